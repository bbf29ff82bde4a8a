create or replace function pgbaton._leased_spans(
    worker_id text, queue_ids integer[], claimed_before timestamptz
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_los bigint[];
    v_his bigint[];
    v_tokens bigint[];
    v_spans pgbaton.span[];
begin
    loop
        select array_agg(s.lo), array_agg(s.hi), array_agg(s.lease_token) into v_los, v_his, v_tokens
        from pgbaton.held_span as s
        where (_leased_spans.worker_id is null or s.worker_id = _leased_spans.worker_id)
            and (queue_ids is null or s.queue_id = any (queue_ids))
            and (_leased_spans.claimed_before is null or s.claimed_at < _leased_spans.claimed_before);
        begin
            v_spans := pgbaton._take_leased(v_los, v_his, v_tokens);
            -- What was extended or split while we waited for its lock lives on in other rows: all anew, as in _carve.
            exit when not exists (
                select from unnest(v_los, v_his, v_tokens) as h (lo, hi, lease_token)
                cross join lateral (
                    select from pgbaton.span as s
                    where pgbaton._overlaps(s.lo, s.hi, h.lo, h.hi) and s.lease_token = h.lease_token
                        and s.lease_until is not null
                    offset 0
                ) as s
            );
            raise exception using errcode = 'PB000', message = 'a job moved meanwhile';
        exception when sqlstate 'PB000' then
            continue;
        end;
    end loop;
    return v_spans;
end;
$$;
comment on function pgbaton._leased_spans(text, integer[], timestamptz) is
'Takes out the leased spans of a worker, of these queues, claimed before an instant (null: any); the caller
hands them to _recover.';
