create or replace function pgbaton._class_bounds()
returns double precision[]
language sql immutable parallel safe
as $$ select '{0.01,0.05,0.1,0.5,1,5,15,60,300,900,3600,21600,86400}'::double precision[] $$;
comment on function pgbaton._class_bounds() is
'Upper bounds of the classes of the histograms of job_totals, in seconds; the last class has none. What is counted
already stays in its class when they change. No search_path, so that it inlines.';
