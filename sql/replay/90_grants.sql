-- What the folders of functions/ do not say. Workers keep the queue healthy, and roll over what was claimed.
grant execute on function pgbaton.recover_stale_jobs to pgbaton_worker;
grant select on pgbaton.live_jobs, pgbaton.finished_jobs, pgbaton.jobs, pgbaton.long_blocked_keys to pgbaton_monitor;
