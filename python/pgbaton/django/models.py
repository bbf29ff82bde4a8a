"""None: jobs are pgbaton's. Django tells only apps with this module that migrations are over."""
