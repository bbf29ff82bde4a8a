"""pgbaton: a job queue inside PostgreSQL with strict order per key."""
