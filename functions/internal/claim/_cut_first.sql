create or replace function pgbaton._cut_first(
    queue_id integer, job_types text[], tags text[], batch_size integer,
    out cut pgbaton.span, out priority integer, out job_type text, out lane_tags text[], out lanes pgbaton.lanes
)
language plpgsql volatile
as $$
declare
    v_step constant bigint := 1024 * least(batch_size, 16);  -- as _pick_spans has it
    v_lane_ids constant integer[] := array(
        select l.id from pgbaton.lane as l
        where l.queue_id = _cut_first.queue_id
            and (job_types is null or l.job_type = any (job_types))
            and l.tags @> _cut_first.tags
        limit 2
    );
    v_has_watermark boolean;
    v_start bigint := 0;
    v_until bigint;
    v_lo bigint;
    v_hi bigint;
    v_position bigint;
begin
    if cardinality(v_lane_ids) <> 1 then
        return;
    end if;
    select l.priority, l.job_type, l.tags, l.has_watermark into priority, job_type, lane_tags, v_has_watermark
    from pgbaton.lane as l
    where l.id = v_lane_ids[1];
    if v_has_watermark then
        select w.value into v_start from pgbaton.watermark as w
        where w.kind = 'lane' and w.lane_id = v_lane_ids[1]
        order by w.kind desc, w.lane_id desc, w.value desc
        limit 1;
        v_start := coalesce(v_start, 0);
    end if;
    -- At first within bounds, as _pick_spans scans.
    foreach v_until in array array[v_start + 64 * (32 + batch_size), 9223372036854775807] loop
        select s.lo, s.hi, s.position into v_lo, v_hi, v_position
        from pgbaton.ready_span as s
        where s.lane_id = v_lane_ids[1] and s.position between v_start and v_until
        order by s.lane_id, s.position
        limit 1
        for update skip locked;
        exit when found;
    end loop;
    if v_hi - v_lo + 1 > batch_size then
        update pgbaton.ready_span as s set lo = s.lo + batch_size where s.hi = v_hi returning s.* into cut;
        cut.lo := v_lo;
        cut.hi := v_lo + batch_size - 1;
        cut.position := v_position - (v_hi - cut.hi);
    elsif v_hi - v_lo + 1 = batch_size then
        delete from pgbaton.ready_span as s where s.hi = v_hi returning s.* into cut;
    else
        lanes := row(v_lane_ids, array[priority], '{t}', array[v_start], array[v_start], array[v_position]);
        return;
    end if;
    if v_position >= v_start + v_step then
        perform pgbaton._advance(v_lane_ids[1], true, v_start, v_step / 2);
    end if;
end;
$$;
comment on function pgbaton._cut_first(integer, text[], text[], integer) is
'The short way of _pick_spans for a standard queue without limits whose jobs that fit are of one lane, when no rewind is
to be read: takes batch_size jobs from the front of the first span in line, and returns them as cut, with the labels of
their lane. Starting a statement costs more than what it reads, and each of these reads one row.
Where that span has fewer jobs, or none was found, it returns the lane as lanes, with the position of that span as its
head. Nothing where several lanes fit, or none.';
