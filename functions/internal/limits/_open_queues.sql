create or replace function pgbaton._open_queues(queue_ids integer[], limited_ids integer[], at timestamptz)
returns integer[]
language plpgsql volatile
as $$
begin
    return array(
        select u.id from unnest(queue_ids) as u (id)
        except
        select l.queue_id from pgbaton.queue_limit as l
        where l.queue_id = any (limited_ids) and l.kind in ('running', 'rate', 'burst') and case
            when l.last_no = l.permits then not exists (
                select from pgbaton._permits(l.queue_id, l.kind, at) as h where h.used < h.units
            )
            else (
                select count(*) filter (where h.used = 0 and h.no <= l.permits)
                    <= count(*) filter (where h.used > 0 and h.no > l.permits)
                from pgbaton._permits(l.queue_id, l.kind, at) as h
            )
        end
    );
end;
$$;
comment on function pgbaton._open_queues(integer[], integer[], timestamptz) is
'Those of these queues whose limits, which limited_ids have, let a further job start at that time.';
