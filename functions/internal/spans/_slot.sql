create or replace function pgbaton._slot(
    policy pgbaton.queue_policy, state pgbaton.job_state, claimed_at timestamptz, attempt integer, held_key text,
    lo bigint
)
returns smallint
language sql immutable
as $$
    select case
        when policy = 'short' then case when state = 'pending' then -1::smallint end
        when policy = 'exclusive' then case
            when state in ('pending', 'retry', 'unknown_retry', 'active', 'cancelling') then 0::smallint
        end
        when policy = 'stately' and state in ('pending', 'waiting') and claimed_at is null then -1::smallint
        when policy = 'stately' and state in ('retry', 'unknown_retry', 'waiting') and attempt > 0 then -2::smallint
        when policy is not null and state in ('active', 'cancelling') then 0::smallint
        when held_key is null then null
        when state = 'pending' then (1 + lo % 32767)::smallint
        else 0::smallint
    end
$$;
comment on function pgbaton._slot(pgbaton.queue_policy, pgbaton.job_state, timestamptz, integer, text, bigint) is
'What a job takes of its key: 0 when it runs, is between attempts or failed and keeps its key (exclusive: when it is
live); -1 when it is queued and its policy (short, stately) allows one such job; -2 when it was tried and stately allows
one such job; a number that depends on its id when it has the baton and was never claimed. Else null. What is
queued was never claimed: a job that was is in retry, also while it waits in line.';
