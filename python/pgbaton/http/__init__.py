"""Queues over HTTP and SSE, and a page to watch and repair them: `pgbaton serve`, docs/http.md."""

from pgbaton._extras import extra

with extra("http"):
    from pgbaton.http._app import gateway
    from pgbaton.http._settings import Caller, Settings, SettingsError, read_tokens

__all__ = ["Caller", "Settings", "SettingsError", "gateway", "read_tokens"]
