"""The asynchronous client: the source of `pgbaton._sync`, which `make sync` writes from it."""
