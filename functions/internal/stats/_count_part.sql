create or replace function pgbaton._count_part(
    queue_id integer, run_id text, part integer, jobs integer, duplicates integer
)
returns void
language plpgsql volatile
as $$
declare
    v_counts constant jsonb := coalesce(nullif(current_setting('pgbaton.counts', true), ''), '{}')::jsonb;
    v_name constant text := concat_ws(' ', queue_id, part, run_id);
begin
    perform set_config('pgbaton.counts', jsonb_set(v_counts, array[v_name], jsonb_build_array(
        coalesce((v_counts -> v_name ->> 0)::bigint, 0) + jobs,
        coalesce((v_counts -> v_name ->> 1)::bigint, 0) + duplicates
    ))::text, true);
end;
$$;
comment on function pgbaton._count_part(integer, text, integer, integer, integer) is
'Counts what became of the rows of a part, in a setting of the transaction: an update of the ledger for each
statement would leave as many dead rows.';
