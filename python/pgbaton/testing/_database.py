"""The clock and the tables of a database for tests."""

from __future__ import annotations

from datetime import timedelta

from pgbaton.testing._target import Target

ADVANCE = """
    do $$
    begin
        execute format(
            'create or replace function pgbaton._now() returns timestamptz language sql volatile as %L',
            format(
                'select clock_timestamp() + interval %L',
                (pgbaton._now() - clock_timestamp() + interval 'STEP seconds')::text
            )
        );
    end
    $$
"""  # noqa: E501
SET_RIGHT = """
    create or replace function pgbaton._now() returns timestamptz language sql volatile
    as $$ select clock_timestamp() $$
"""
KEPT = (
    "channel_secret",
    "enqueue_run",
    "queue",
    "queue_grant",
    "schedule",
    "subscription",
)
"""Tables that say what there is, not what happened."""
CLEAN = """
    do $$
    declare
        v_table regclass;
        v_is_filled boolean;
    begin
        for v_table in
            select c.oid from pg_catalog.pg_class as c
            where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
                and not c.relispartition and c.relname <> all ('{KEPT}')
        loop
            execute format('select exists (select from %s)', v_table) into v_is_filled;
            if v_is_filled then
                execute format('delete from %s', v_table);
            end if;
        end loop;
    end
    $$
""".replace("KEPT", ",".join(KEPT))


async def advance_clock(target: Target, by: timedelta) -> None:
    await require_test(target)
    await target.rows(ADVANCE.replace("STEP", format(by.total_seconds(), ".6f")))


async def clean(target: Target) -> None:
    await require_test(target)
    await target.rows(CLEAN)
    [(is_moved,)] = await target.rows(
        "select abs(extract(epoch from pgbaton._now() - clock_timestamp())) > 0.001"
    )
    if is_moved:
        await target.rows(SET_RIGHT)


async def require_test(target: Target) -> None:
    """A database that is in use must not lose its jobs or its time."""
    [(name,)] = await target.rows("select current_catalog::text")
    if "test" not in name.lower():
        raise ValueError(
            f"this is for databases of tests, which have `test` in their name, not for {name!r}"
        )
