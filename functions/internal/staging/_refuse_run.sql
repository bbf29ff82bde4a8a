create or replace function pgbaton._refuse_run(run pgbaton.enqueue_run, parts integer)
returns void
language plpgsql volatile
as $$
begin
    if run.parts = parts then
        raise exception using
            errcode = 'PB013',
            message = format('run "%s" was begun with other data', run.run_id),
            hint = 'Other data needs another run_id; a stream that starts over with a new checkpoint, or another '
                'stream or '
                'queue, needs another stream_id.';
    end if;
    raise exception using
        errcode = 'PB013',
        message = format(
            'run "%s" comes %s, but was begun %s',
            run.run_id, pgbaton._parts_text(parts), pgbaton._parts_text(run.parts)
        ),
        hint = 'Send it again as it was begun; other data needs another run_id.';
end;
$$;
comment on function pgbaton._refuse_run(pgbaton.enqueue_run, integer) is
'Raises PB013: something of the run is enqueued, and it was another one.';
