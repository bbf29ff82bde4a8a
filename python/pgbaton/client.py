"""The clients: one method for each public SQL function, with the same names and defaults."""

from pgbaton._async.caller import AsyncPool
from pgbaton._async.client import AsyncClient
from pgbaton._sync.caller import Pool
from pgbaton._sync.client import Client

__all__ = ["AsyncClient", "AsyncPool", "Client", "Pool"]
