"""What `pgbaton.Worker` is made of."""
