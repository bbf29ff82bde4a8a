"""The client without async: written by `make sync` from `pgbaton._async`."""
