-- Today and the next days; run_maintenance makes the later ones.
do $$ begin perform pgbaton._add_partitions(pgbaton._missing_partitions()); end $$;
