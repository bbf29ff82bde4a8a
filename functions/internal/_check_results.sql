create or replace function pgbaton._check_results(results jsonb[])
returns void
language plpgsql stable parallel safe
as $$
begin
    if exists (
        select from unnest(results) as r (result)
        where pg_column_size(array[r.result]) > 4000 and jsonb_path_exists(r.result, '$.**{501}')
    ) then
        raise exception using
            errcode = 'PB011',
            message = 'result is nested deeper than 500 levels',
            hint = 'Store the data elsewhere and return a reference to it.';
    end if;
end;
$$;
comment on function pgbaton._check_results(jsonb[]) is
'Raises PB011 for more than 500 levels of nesting, which many clients could not read any more.';
