"""Planted faults: changes of the functions that a sound set of tests must notice.

Each is made in a copy of the install script, by replacing text in the body of one function. The
text must be there exactly once, else planting fails: a fault is never planted in nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pgbaton import _assemble

FENCE = """(not is_fenced or s.lease_token = {0}.lease_token
            or ({0}.lease_token is null and (s.held_key is null or s.policy is not null)))"""
IS_PAUSED = """exists (
                select from pgbaton.paused_key as k
                where k.queue_id = s.queue_id and k.singleton_key = s.held_key
            )"""


@dataclass(frozen=True)
class Fault:
    """What is wrong, where, and which net is to catch it: a scenario, `machine` or `free_run`."""

    name: str
    function: str
    changes: tuple[tuple[str, str], ...]
    net: str

    def planted(self, script: str) -> str:
        """The install script with this fault in it."""
        head = f"create function pgbaton.{self.function}("
        if head not in script:
            raise ValueError(f"{self.name}: there is no function {self.function}")
        start = script.index(head)
        end = script.index("\n$$;\n", start)
        body = script[start:end]
        for old, new in self.changes:
            found = len(re.findall(pattern_of(old), body))
            if found != 1:
                raise ValueError(f"{self.name}: {self.function} has {found} times: {old}")
            body = re.sub(pattern_of(old), lambda _, new=new: new, body)
        return script[:start] + body + script[end:]


def pattern_of(text: str) -> str:
    """The text with any white space where it has some."""
    return r"\s+".join(re.escape(word) for word in text.split())


def sound_script() -> str:
    return _assemble.statements(_assemble.source_root())


FAULTS = [
    Fault(
        "a job that lives counts as one that has completed",
        "_edge_verdict",
        (("return 'open'", "return 'settled'"),),
        "a_child_waits_for_all_of_its_parents",
    ),
    Fault(
        "of groups of edges the first that is settled counts for all",
        "_settle_wait",
        (("return 'left'", "return 'free'"),),
        "a_child_waits_for_all_of_its_parents",
    ),
    Fault(
        "nobody looks again at a parent that is ending",
        "_look_at_parents",
        (("v_again := not pgbaton._is_at_rest(v_parent.parent_id)", "v_again := false"),),
        "a_child_of_a_parent_that_ends_meanwhile_runs",
    ),
    Fault(
        "who ends a parent under an older snapshot tells nobody",
        "_tell_children",
        (("if not pgbaton._is_read_committed() then", "if false then"),),
        "a_child_of_a_parent_that_ends_meanwhile_runs",
    ),
    Fault(
        "a skipped parent does not count as one that has completed",
        "_edge_verdict",
        (("(h.state = 'completed' or h.resolution = 'skipped')", "h.state = 'completed'"),),
        "a_skipped_parent_lets_its_child_run",
    ),
    Fault(
        "a job that waits for a failed one runs",
        "_edge_verdict",
        (
            ("case on_failed when 'run' then", "case when on_failed <> 'cancel' then"),
            ("when 'cancel' then", "when on_failed = 'cancel' then"),
        ),
        "machine",
    ),
    Fault(
        "of a group one edge that is settled counts for all",
        "_settle_group",
        (("exit when v_verdict <> 'settled'", "exit"),),
        "a_child_waits_for_the_first_of_its_parents",
    ),
    Fault(
        "the token of complete_job is not checked",
        "_complete_first",
        tuple(
            (f"{found} and s.lease_token is not distinct from _complete_first.lease_token", found)
            for found in (
                "delete from pgbaton.leased_span as s where s.lo = job_id and s.hi = job_id",
                "s.hi > job_id",
                "delete from only pgbaton.span as s where s.lo = job_id and s.hi = job_id",
            )
        ),
        "an_old_token_is_refused",
    ),
    Fault(
        "the token of batch calls is not checked",
        "_take",
        ((FENCE.format("_take"), "true"),),
        "machine",
    ),
    Fault(
        "the token of calls on one job is not checked",
        "_take_first",
        ((FENCE.format("_take_first"), "true"),),
        "machine",
    ),
    Fault("two jobs of a key get the baton", "_promote", (("limit 1", "limit 2"),), "machine"),
    Fault(
        "the last job of a key gets the baton",
        "_promote",
        (
            (
                "order by s.queue_id, s.singleton_key, s.key_position",
                "order by s.key_position desc",
            ),
        ),
        "free_run",
    ),
    Fault(
        "a key that is held gets a second holder",
        "_promote",
        (("and (not may_be_held or", "and (true or"),),
        "an_unsure_producer_promotes_nobody",
    ),
    Fault(
        "the next free job of a key is taken when the first is locked",
        "_promote",
        (("key_position limit 1", "key_position limit 1 for update skip locked"),),
        "a_locked_head_is_not_passed",
    ),
    Fault(
        "a paused key is handed on",
        "_lease_in_order",
        ((IS_PAUSED, "false"),),
        "a_paused_key_is_not_handed_on",
    ),
    Fault(
        "producers of a key do not wait for each other",
        "_lock_key",
        (
            (
                "perform pg_advisory_xact_lock(pgbaton._lock_class(),"
                " pgbaton._stripe(queue_id, singleton_key));",
                "",
            ),
        ),
        "order_is_that_of_commits",
    ),
    Fault(
        "an idle key is decided while its producer is open",
        "_settle_idle_keys",
        (
            (
                "from unnest(v_kept_queue_ids, v_kept_keys) as k (queue_id, singleton_key)",
                "from unnest(v_kept_queue_ids, v_kept_keys) as k (queue_id, singleton_key)"
                " where false",
            ),
        ),
        "a_job_committed_late_runs",
    ),
    Fault(
        "a release row is dropped while a producer is open",
        "_pass_released",
        (
            (
                "pg_try_advisory_xact_lock(pgbaton._lock_class() + 2,"
                " pgbaton._stripe(b.queue_id, b.singleton_key))",
                "true",
            ),
        ),
        "a_job_committed_late_runs",
    ),
    Fault(
        "who completes waits for a producer",
        "_settle_idle_keys",
        (
            (
                "pg_try_advisory_xact_lock_shared( pgbaton._lock_class() + 2,"
                " pgbaton._stripe(f.queue_id, f.singleton_key) )",
                "(select true from (select pg_advisory_xact_lock_shared(pgbaton._lock_class() + 2,"
                " pgbaton._stripe(f.queue_id, f.singleton_key)) offset 0) as w)",
            ),
        ),
        "a_job_committed_late_runs",
    ),
    Fault(
        "a claim of one overlooks that there are other lanes",
        "_cut_first",
        (("limit 2", "limit 1"),),
        "a_claim_of_one_is_the_first_in_line",
    ),
    Fault(
        "two claims of one take the same job",
        "_cut_first",
        (("for update skip locked", ""),),
        "a_claim_of_one_is_the_first_in_line",
    ),
    Fault(
        "a claim of one takes the whole span",
        "_cut_first",
        (("set lo = s.lo + batch_size", "set lo = s.hi"),),
        "a_claim_of_one_is_the_first_in_line",
    ),
    Fault(
        "the watermark passes what is claimable",
        "_advance",
        (("least(case", "greatest(case"),),
        "the_watermark_stays_behind_what_is_claimable",
    ),
    Fault(
        "neighbours of different attempts are merged",
        "_pick_spans",
        (
            (
                "num_nonnulls(s.singleton_key, s.claimed_at, s.run_at)",
                "num_nonnulls(s.singleton_key)",
            ),
        ),
        "neighbours_keep_their_attempts",
    ),
    Fault(
        "what is left of a waiting span stands at the place of what was taken",
        "_put_back",
        (
            (
                "whole.key_position + (p.lo - whole.lo)",
                "whole.key_position",
            ),
        ),
        "machine",
    ),
    Fault(
        "the end of a long waiting span is lost when its first job gets the baton",
        "_promote",
        (("least(p.lo + 8, r.hi)", "least(p.lo + 7, r.hi)"),),
        "machine",
    ),
    Fault(
        "a split loses a job",
        "_put_back_rest",
        (("v_next <= whole_his[i] then", "v_next < whole_his[i] then"),),
        "machine",
    ),
    Fault(
        "a recovered job forgets who had it",
        "_requeue",
        (("and s.lease_until < _requeue.run_at then", "and false then"),),
        "an_ended_lease_is_good_for_an_end_only",
    ),
    Fault(
        "a recovered job may be held on to",
        "_hold",
        (("and s.state <> 'unknown_retry'", ""),),
        "an_ended_lease_is_good_for_an_end_only",
    ),
    Fault(
        "a recovered job has no limit of attempts",
        "_recover",
        (("where j.is_spent", "where false"),),
        "a_job_that_kills_its_worker_fails",
    ),
    Fault(
        "a job between two attempts lets its key go",
        "_fail",
        (
            (
                "(j.again_at is not null or (j.queue).on_exhausted = 'block')",
                "(j.again_at is null and (j.queue).on_exhausted = 'block')",
            ),
        ),
        "a_job_between_two_attempts_holds_its_key",
    ),
    Fault(
        "a failed job lets its key go",
        "_fail",
        (
            (
                "(j.again_at is not null or (j.queue).on_exhausted = 'block')",
                "j.again_at is not null",
            ),
        ),
        "a_failed_job_holds_its_key",
    ),
    Fault(
        "a retried job goes to the tail of its key",
        "retry_job",
        (("if v_span.policy is not null then", "if true then"),),
        "a_retried_job_is_next",
    ),
    Fault(
        "a job is completed twice",
        "_complete_late",
        (
            (
                "where h.lo = any (job_ids) and h.state = 'unknown_stopped'",
                "where h.lo = any (job_ids) and h.state in ('unknown_stopped', 'completed')",
            ),
            (
                "h.day = l.day and h.state = 'unknown_stopped'",
                "h.day = l.day",
            ),
        ),
        "a_job_is_completed_once",
    ),
    Fault(
        "a job that is being cancelled lets its key go",
        "_cancel",
        (
            ("s.held_key, s.worker_id, s.policy", "null, s.worker_id, s.policy"),
            (
                "where s.state in ('active', 'cancelling')\n    ));",
                "where s.state in ('active', 'cancelling')\n    ));"
                " perform pgbaton._pass_batons_of(array(select s::pgbaton.span"
                " from unnest(spans) as s where s.state in ('active', 'cancelling')));",
            ),
        ),
        "a_job_being_cancelled_holds_its_key",
    ),
    Fault(
        "the producer's id of a job is not looked at",
        "_enqueue_job",
        (("if dedup_id is not null then", "if false then"),),
        "an_enqueue_is_repeated",
    ),
    Fault(
        "a job that replaces another one does not get its key",
        "_take_place",
        (("v_span.held_key := place.held_key;", ""),),
        "machine",
    ),
    Fault(
        "a job that is replaced goes nowhere, and the other one to the end of the line",
        "_place_job",
        (("if v_place.lo is not null then", "if false then"),),
        "a_replaced_job_leaves_its_place",
    ),
    Fault(
        "an id stays with the job that was replaced",
        "_pass_dedup_id",
        (("set job_id = excluded.job_id, created_at", "set created_at"),),
        "machine",
    ),
    Fault(
        "a job is put off without a bound",
        "_take_place",
        (
            (
                "least(pgbaton._after(v_now, debounce), pgbaton._after(v_since, max_wait))",
                "pgbaton._after(v_now, debounce)",
            ),
        ),
        "machine",
    ),
    Fault(
        "who replaces the job of an id does not wait for another one who does",
        "_lock_places",
        (("d.dedup_id = i.dedup_id for no key update", "d.dedup_id = i.dedup_id"),),
        "of_an_id_one_job_is_left",
    ),
    Fault(
        "of a policy that limits what is queued a running job is no obstacle",
        "_take_replaced",
        (
            (
                "pgbaton._queued_job(queue, singleton_key) = v_queued_id then return null;",
                "pgbaton._queued_job(queue, singleton_key) = v_queued_id then return '{}';",
            ),
        ),
        "machine",
    ),
    Fault(
        "the policy of a queue is not looked at",
        "_queued_job",
        (("if queue.policy not in ('short', 'stately', 'exclusive') then", "if true then"),),
        "machine",
    ),
    Fault(
        "a scheduled job runs early",
        "_make_due",
        (("s.run_at <= at", "s.run_at <= at + interval '1 hour'"),),
        "machine",
    ),
    Fault(
        "a permit that another claim has locked is used",
        "_admit",
        (("for update skip locked ) as k where", ") as k where"),),
        "no_job_too_many_runs",
    ),
    Fault(
        "only the first permits are looked at",
        "_admit",
        (("exit when v_need <= 0 or cardinality(v_candidates) < v_asked", "exit"),),
        "permits_that_others_have_locked_hide_no_free_one",
    ),
    Fault(
        "a permit is free as long as its claim has jobs",
        "_permits",
        (("coalesce(h.ordinal <= (", "coalesce(h.ordinal < ("),),
        "no_job_too_many_runs",
    ),
    Fault(
        "what has started is not noted",
        "_hold_permits",
        (("where n.before < s.jobs", "where n.before < s.jobs and false"),),
        "no_job_too_many_runs",
    ),
    Fault(
        "a permit of a rate is free too early",
        "_hold_permits",
        (("then pgbaton._after(at, (", "then pgbaton._after(at, 0.9 * ("),),
        "a_rate_counts_starts",
    ),
    Fault(
        "the rate of a key is one too many",
        "_opens_at",
        (("cardinality(w.starts) >= size", "cardinality(w.starts) > size"),),
        "a_rate_of_a_key_counts_its_starts",
    ),
    Fault(
        "a key opens too early",
        "_opens_at",
        (("pgbaton._after(u.at, refill)", "pgbaton._after(u.at, refill * 0.9)"),),
        "a_rate_of_a_key_counts_its_starts",
    ),
    Fault(
        "a start of a key forgets those before",
        "_note_starts",
        (("limit s.size - 1", "limit 0"),),
        "a_rate_of_a_key_counts_its_starts",
    ),
    Fault(
        "who is put off hides those behind it",
        "_pick_spans",
        (
            (
                "v_later); continue;",
                "v_later); exit;",
            ),
        ),
        "a_rate_of_a_key_counts_its_starts",
    ),
    Fault(
        "who was put off stays so when the rate goes",
        "_let_start",
        (("put_off_until > put_off_beyond", "put_off_until < put_off_beyond"),),
        "a_rate_of_a_key_counts_its_starts",
    ),
    Fault(
        "a key is never full",
        "_room_of_key",
        (("l.size - (", "l.size + 99 - ("),),
        "of_a_key_no_more_than_its_limit_run",
    ),
    Fault(
        "who ends a job of a full key tells nobody",
        "_release_places",
        (("where s.slot < -100", "where s.slot < -9999"),),
        "of_a_key_no_more_than_its_limit_run",
    ),
    Fault(
        "who finds a key full does not ask whether a job of it is ending",
        "_stays_full",
        (("and pg_try_advisory_xact_lock(", "or pg_try_advisory_xact_lock("),),
        "the_place_of_a_job_that_is_about_to_end_is_not_lost",
    ),
    Fault(
        "who ends a job of a key does not ask whether it was found full",
        "_release_places",
        (("where not k.is_sure or not exists", "where not exists"),),
        "the_place_of_a_job_that_is_about_to_end_is_not_lost",
    ),
]
