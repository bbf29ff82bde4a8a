-- Helpers for tests: \ir this file after "begin". They live in schema tap and go with the rollback.

-- The clock. The first call replaces the body of pgbaton._now() for the rest of the transaction and keeps all
-- else of it (language, volatility, settings, owner, grants), so that whoever calls or inlines it is planned anew.
-- Later calls only change a setting. Security definer: a test may move the clock under any role.
create or replace function tap.set_now(instant timestamptz)
returns void
language plpgsql volatile security definer
as $$
declare
    v_now constant regprocedure := 'pgbaton._now()';
    v_source text;
begin
    if coalesce(current_setting('tap.now', true), '') = '' then
        select p.prosrc into strict v_source from pg_catalog.pg_proc as p where p.oid = v_now;
        execute replace(
            pg_get_functiondef(v_now), v_source,
            'select pg_catalog.current_setting(''tap.now'')::pg_catalog.timestamptz'
        );
    end if;
    perform set_config('tap.now', to_char(instant at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00', true);
end;
$$;

-- Moves the clock; stops it first if it still runs.
create or replace function tap.advance(step interval)
returns void
language sql volatile security definer
as $$ select tap.set_now(pgbaton._now() + step) $$;
