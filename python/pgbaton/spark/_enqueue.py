"""A DataFrame becomes jobs."""

from __future__ import annotations

import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, Literal, NoReturn, TypeAlias

import psycopg
from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pgbaton.errors import KeyRequired, PayloadTooLarge
from pgbaton.spark import _jdbc
from pgbaton.spark._aside import count_of
from pgbaton.spark._columns import fields_of
from pgbaton.spark._datasource import RowRefused, Stage, aside_run_id, batch_run_id, register
from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import (
    Place,
    Refusal,
    other_pythons_noted,
    plain_errors,
    shortened,
)
from pgbaton.spark._ranges import check_partitions
from pgbaton.spark._rows import (
    INTEGERS,
    ON_FAILED,
    STRIPES,
    ColumnOrName,
    Wanted,
    has_text_payload,
    job_rows,
)

Method: TypeAlias = Literal["jdbc", "datasource"]
OnBadRows: TypeAlias = Literal["fail", "aside"]

# Above that a queue refuses by default, whoever makes them.
MOST_LANES = 10_000
LANE = {"priority": "integer", "job_type": "text", "tags": "text[]"}
TEXTS = ("payload", "singleton_key", "job_type", "dedup_id")
NUL = "\0"
NUMBER = "__pgbaton_number"
# monotonically_increasing_id has the partition above this many bits, and the row below.
ROWS_OF_PART = 33
# Rows that one look at the DataFrame brings to the driver, which shows them to the database.
MOST_DOUBTFUL = 1000
MOST_PARENTS = 100_000
# An escape of U+0000, and half of a pair of escapes.
ODD_ESCAPES = (
    r"\\u0000|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])"
    r"|\\u[dD][c-fC-F](?<!\\u[dD][89abAB]..\\u[dD][c-fC-F])|\\\\u[dD]"
)
# What makes a number of very many digits.
LARGE_EXPONENT = r"[eE][+-]?\d{4}"
MANY_DIGITS = 4000
# With the number that the row had in a statement of one of Spark's batches.
UNKNOWN_PARENT = re.compile(
    r"(?P<said>job (?P<id>-?\d+), named by after, does not exist)(?: \(row \d+\))?(?P<rest>.*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Part:
    """What became of one transaction of a run."""

    part: int
    inserted: int
    deduped: int
    already: int


@dataclass(frozen=True)
class Enqueued:
    """What `enqueue` did."""

    run_id: str
    inserted: int
    """Jobs that this call added, or another one of the same run that was at work meanwhile."""
    deduped: int
    """Rows that it left out, since the queue knows their dedup id."""
    already: int
    """Jobs that an earlier call had added under this run_id."""
    aside: int
    """Bad rows that it put aside."""
    parts: tuple[Part, ...]
    """The same for each transaction: one for each partition that holds rows, or one for all."""
    seconds: float
    method: Method


def enqueue(
    df: DataFrame,
    dsn: str,
    queue: str,
    *,
    payload: ColumnOrName | Sequence[str] | None = None,
    key: ColumnOrName | None = None,
    order_by: ColumnOrName | Sequence[ColumnOrName] | None = None,
    priority: int | ColumnOrName | None = None,
    job_type: ColumnOrName | None = None,
    tags: Sequence[str] | ColumnOrName | None = None,
    run_at: ColumnOrName | None = None,
    dedup: ColumnOrName | None = None,
    after: Sequence[int] | ColumnOrName | None = None,
    on_failed: str | Column = "wait",
    run_id: str | None = None,
    partitions: int = 8,
    method: Method | None = None,
    on_bad_rows: OnBadRows = "fail",
    bad_rows_queue: str | None = None,
    bad_rows_table: str | None = None,
) -> Enqueued:
    """Adds one job for each row, once, however often Spark repeats its tasks.

    Args:
        df (DataFrame): the rows.
        dsn (str): connection string or URL, as psycopg takes it.
        queue (str): where the jobs go.
        payload (Column | str | list[str]): one column: JSON text, or a struct, map, array or
            variant; a list: these columns as one object; left out: all columns as one object.
            Timestamps become ISO 8601 in UTC, nulls stay, NaN becomes the text "NaN".
        key (Column | str): the singleton_key; required in a FIFO queue. Its text is the key.
        order_by (Column | str | list): order of the jobs of one key, nulls first. Rows that are
            equal in it, or all if it is left out, keep the order of the DataFrame.
        priority (int | Column | str): one for all or a column of whole numbers; default 100.
        job_type (Column | str): a column of text; default "".
        tags (list[str] | Column | str): the same for all, or a column of array<string>.
        run_at (Column | str): a column of timestamps before which the jobs do not run; null is at
            once.
        dedup (Column | str): the dedup_id; a row whose id the queue knows becomes no job.
        after (list[int] | Column | str): for which jobs, by their ids, every row waits, or a column
            of array<bigint>, in which null and an empty array are none. These jobs must exist
            already: rows of one run cannot wait for each other.
        on_failed (str | Column): what becomes of a row when a job for which it waits does not
            complete: "wait" (default), "cancel" or "run", or a column of these.
        run_id (str): name of this run; called again with the same name and data, what is enqueued
            is not enqueued again. Default a new one.
        partitions (int): how many connections at most write side by side, as far as Spark has
            cores; a run that is called again must have the same with method "jdbc".
        method (str): "datasource", all at once in one transaction, through this package on Spark's
            workers; "jdbc", one transaction for each partition, through PostgreSQL's JDBC driver.
            Default "jdbc" where there is a driver, unless bad rows are put aside.
        on_bad_rows (str): "fail" (default): one bad row refuses them all. "aside": it goes into
            bad_rows_queue, or bad_rows_table, with the reason, and the others are enqueued; needs
            method "datasource".
        bad_rows_queue (str): a standard queue, where each bad row becomes a job whose payload has
            queue, run_id, reason, sqlstate, partition, row, and columns with its values as text.
        bad_rows_table (str): instead a table of the same database that has these columns, by its
            name or schema.name; each bad row is inserted in the transaction of the jobs.

    Returns:
        Enqueued: how many jobs were added, how many rows were not, and why.

    Raises:
        ValueError: a column that is not there or of the wrong type, no partitions, order_by
            without a key, or method "jdbc" where there is no driver.
        UnknownQueue: there is no such queue.
        KeyRequired: a FIFO queue and no key, or a row whose key is null or empty; nothing is
            enqueued.
        RunExists: the run_id stands for other data, or for the same in other partitions.
        UnknownJob: a row waits for a job that is not there; says which row. With "jdbc" it is
            found when its partition is written, and those that are done stay.
        psycopg.Error: the database refused a row; what it said, and which row: its number and
            partition when it was written, its key, and how its payload begins. With "jdbc" the
            partitions that are done stay, and a call with the same run_id adds the rest.
        ImportError: Spark's Python workers have no pgbaton or no psycopg.
    """
    wanted = Wanted(
        payload, key, order_by, priority, job_type, tags, run_at, dedup, after, on_failed
    )
    aside = _aside_options(on_bad_rows, bad_rows_queue, bad_rows_table)
    if aside and method == "jdbc":
        raise ValueError('on_bad_rows="aside" needs method "datasource"')
    method = "datasource" if aside else method
    return _enqueue(df, dsn, queue, wanted, run_id, partitions, method, aside)


def foreach_batch(
    queue: str,
    dsn: str,
    stream_id: str,
    *,
    payload: ColumnOrName | Sequence[str] | None = None,
    key: ColumnOrName | None = None,
    order_by: ColumnOrName | Sequence[ColumnOrName] | None = None,
    priority: int | ColumnOrName | None = None,
    job_type: ColumnOrName | None = None,
    tags: Sequence[str] | ColumnOrName | None = None,
    run_at: ColumnOrName | None = None,
    dedup: ColumnOrName | None = None,
    after: Sequence[int] | ColumnOrName | None = None,
    on_failed: str | Column = "wait",
    partitions: int = 8,
    on_bad_rows: OnBadRows = "fail",
    bad_rows_queue: str | None = None,
    bad_rows_table: str | None = None,
) -> Callable[[DataFrame, int], None]:
    """For `writeStream.foreachBatch`: each micro-batch is enqueued once, also when it comes again.

    Args:
        queue (str): where the jobs go.
        dsn (str): connection string or URL, as psycopg takes it.
        stream_id (str): name of the stream. A stream that starts over with a new checkpoint needs
            a new name, since its batches are numbered anew; so does a second write of its batches.
        payload (str | Column | list[str]): this and what follows: as in `enqueue`.

    Returns:
        Callable: takes the DataFrame and the number of a batch. Raises what `enqueue` raises,
            and then Spark stops the stream.
    """
    wanted = Wanted(
        payload, key, order_by, priority, job_type, tags, run_at, dedup, after, on_failed
    )
    aside = _aside_options(on_bad_rows, bad_rows_queue, bad_rows_table)

    def write(df: DataFrame, batch_id: int) -> None:
        run_id = batch_run_id(stream_id, batch_id)
        _enqueue(df, dsn, queue, wanted, run_id, partitions, "datasource", aside, True)

    return write


@plain_errors()
def _enqueue(
    df: DataFrame,
    dsn: str,
    queue: str,
    wanted: Wanted,
    run_id: str | None,
    partitions: int,
    method: Method | None,
    aside: dict[str, str],
    is_micro_batch: bool = False,
) -> Enqueued:
    started = time.monotonic()
    check_partitions(partitions)
    if df.isStreaming:
        raise ValueError("the DataFrame is a stream: pass foreach_batch() to its writeStream")
    if method not in (None, "jdbc", "datasource"):
        raise ValueError(f'method is "{method}": pass "jdbc" or "datasource"')
    rows = job_rows(df, wanted, partitions, is_repeatable=run_id is not None)
    run = Run(Target.resolve(dsn), queue, str(uuid.uuid4() if run_id is None else run_id))
    if run.requires_key() and wanted.key is None:
        raise KeyRequired(f'queue "{queue}" is a FIFO queue: pass key, the column to keep in order')

    method = _choose_method(df, run.target, method)
    table = aside.get("bad_rows_table")
    before, aside_before = run.done(), run.aside(table) if aside else 0
    if method == "jdbc":
        parts = min(partitions, STRIPES) if wanted.key is not None else partitions
        _by_jdbc(rows, run, parts, run_id is not None, has_text_payload(df, wanted))
    else:
        _by_datasource(rows, run, is_micro_batch, aside)
    put_aside = run.aside(table) - aside_before if aside else 0
    return _result(run, before, put_aside, time.monotonic() - started, method)


def _aside_options(on_bad_rows: str, queue: str | None, table: str | None) -> dict[str, str]:
    """The options of the data source, none when bad rows are refused."""
    given = {"bad_rows_queue": queue, "bad_rows_table": table}
    places = {name: place for name, place in given.items() if place}
    if on_bad_rows == "aside" and len(places) == 1:
        return {"on_bad_rows": "aside", **places}
    if on_bad_rows == "fail" and not places:
        return {}
    raise ValueError(
        f'on_bad_rows is "{on_bad_rows}", bad_rows_queue {queue} and bad_rows_table {table}: pass '
        '"fail", or "aside" and a queue or a table'
    )


@dataclass(frozen=True)
class Run:
    """One run on its way into a queue."""

    target: Target
    queue: str
    run_id: str

    def requires_key(self) -> bool:
        [(requires_key,)] = self.ask("select pgbaton.requires_key(%s)", self.queue)
        return bool(requires_key)

    def done(self) -> dict[int, tuple[int, int]]:
        """Jobs and duplicates of what is enqueued of it, by part."""
        rows = self.ask("select part, jobs, duplicates from pgbaton.spark_run(%s)", self.run_id)
        return {part: (jobs, duplicates) for part, jobs, duplicates in rows}

    def aside(self, table: str | None) -> int:
        """Bad rows of it that are put aside, into that table or a queue."""
        if table:
            with self.target.connect() as connection:
                return count_of(connection, table, self.run_id)
        aside = aside_run_id(self.run_id)
        [(jobs,)] = self.ask("select coalesce(sum(jobs), 0) from pgbaton.spark_run(%s)", aside)
        return int(jobs)

    def ask(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with self.target.connect() as connection:
            return connection.execute(statement, arguments).fetchall()


def _choose_method(df: DataFrame, target: Target, wanted: Method | None) -> Method:
    if wanted == "datasource":
        return wanted
    obstacle = target.jdbc_obstacle() or _jdbc.load_driver(df.sparkSession)
    # Only the server of Spark Connect knows: who asks for it may know too.
    if obstacle is None or (wanted == "jdbc" and _jdbc.is_connect(df.sparkSession)):
        return "jdbc"
    if wanted == "jdbc":
        raise ValueError(f'method "jdbc" cannot be used: {obstacle}')
    print(f"pgbaton: enqueuing through the data source: {obstacle}", file=sys.stderr)
    return "datasource"


def _by_jdbc(rows: DataFrame, run: Run, parts: int, is_named: bool, is_text: bool) -> None:
    """Each partition is one transaction, in which the ledger notes that it is done.

    The DataFrame is computed once and kept (memory, then disk) until it is written: what is wrong
    with it is found before the first partition commits.
    """
    rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        fingerprint = _check_rows(rows, run, is_named, is_text)
        run.ask("select pgbaton.spark_begin(%s, %s, %s)", run.run_id, parts, fingerprint)
        _make_lanes(rows, run)
        _write_parts(rows, run, parts, is_named)
    finally:
        rows.unpersist()


def _write_parts(rows: DataFrame, run: Run, parts: int, is_named: bool) -> None:
    added = {
        "queue": F.lit(run.queue),
        "run_id": F.lit(run.run_id),
        "part": F.spark_partition_id(),
        "parts": F.lit(parts),
    }
    try:
        _jdbc.write(rows.withColumns(added), run.target)
    except psycopg.Error as error:
        if isinstance(error, PayloadTooLarge):
            try:
                _judge_largest(rows, run)
            except PayloadTooLarge as same:
                error.args = same.args
            except (PySparkException, Py4JError):
                pass  # too large for the driver
        if unknown := UNKNOWN_PARENT.match(str(error)):
            error.args = (_with_its_row(rows, unknown),)
        if is_named:
            error.add_note("Partitions that are done stay: the same run_id again adds the rest.")
        raise


def _with_its_row(rows: DataFrame, unknown: re.Match[str]) -> str:
    """What was said about a job that is not known, with the first row that waits for it."""
    numbered = rows.withColumn(NUMBER, F.monotonically_increasing_id())
    waits = F.array_contains("after", int(unknown["id"]))
    first = numbered.where(waits).agg(F.min(NUMBER)).first()
    if first is None or first[0] is None:
        return unknown.string
    place = _place(first[0])
    return f"{unknown['said']} ({place}{_looks(rows, place)}){unknown['rest']}"


def _by_datasource(rows: DataFrame, run: Run, is_micro_batch: bool, aside: dict[str, str]) -> None:
    register(rows.sparkSession)
    writer = rows.write.format("pgbaton").mode("append")
    options = {
        "dsn": run.target.conninfo(with_password=False),
        "password": run.target.password or "",
        "queue": run.queue,
        "run_id": run.run_id,
        "micro_batch": str(is_micro_batch).lower(),
    }
    try:
        with other_pythons_noted():
            writer.options(**options, **aside).save()
    except (PySparkException, Py4JError) as error:
        refusal = Refusal.in_text(str(error))
        if refusal is None or refusal.place is None:
            raise
    else:
        return
    refusal.throw(_looks(rows, refusal.place))


def _place(number: int) -> Place:
    """Of what monotonically_increasing_id gave to a row."""
    return Place(number % (1 << ROWS_OF_PART) + 1, number >> ROWS_OF_PART)


def _looks(rows: DataFrame, place: Place) -> str:
    """The key of a row, and how its payload begins; asked here, so that no log has it."""
    number = (place.part << ROWS_OF_PART) + place.row - 1
    columns = ["payload"] + ["singleton_key"] * ("singleton_key" in rows.columns)
    # As the row was written, a struct as its JSON.
    numbered = rows.select(*columns, F.monotonically_increasing_id().alias(NUMBER))
    for row in numbered.where(F.col(NUMBER) == number).drop(NUMBER).collect():
        key = row["singleton_key"] if len(columns) > 1 else None
        payload = row["payload"]
        looks = "" if key is None else f", key {shortened(key)}"
        return looks if payload is None else f"{looks}, payload {shortened(payload)}"
    return ""


def _check_rows(rows: DataFrame, run: Run, is_named: bool, is_text: bool) -> str | None:
    """Raises if a row has no key or payload, or what PostgreSQL does not take; says which row.

    Of a run that can be repeated it returns what the rows look like, whatever their order.
    """
    numbered = rows.withColumn(NUMBER, F.monotonically_increasing_id())
    checks = _checks(rows, run)
    doubtful = reduce(or_, _doubts(rows, is_text))
    wanted = [F.count(F.lit(1)).alias("rows"), F.count_if(doubtful).alias("doubtful")]
    for name, is_bad in checks.items():
        wanted.append(F.count_if(is_bad).alias(name))
        wanted.append(F.min(F.when(is_bad, F.col(NUMBER))).alias(f"first {name}"))
    if is_named:
        wanted.append(F.sum(F.hash(*rows.columns)).alias("sum"))
        wanted.append(F.bit_xor(F.xxhash64(*rows.columns)).alias("xor"))
    found = numbered.agg(*wanted).first()
    if found is None:
        raise RuntimeError("Spark counted nothing")
    for name in checks:
        if found[name]:
            first = found[f"first {name}"]
            _refuse(rows, run, name, f"in {found[name]} of {found['rows']} rows", first)
    if found["doubtful"]:
        _judge_all(rows, numbered.where(doubtful), run)
    return f"{run.queue} {found['rows']} {found['sum']} {found['xor']}" if is_named else None


def _checks(rows: DataFrame, run: Run) -> dict[str, Column]:
    """What is wrong with a row, by the name of it."""
    checks = {}
    if run.requires_key():
        checks["keyless"] = F.coalesce(F.col("singleton_key") == "", F.lit(True))
    checks["without payload"] = F.col("payload").isNull()
    return checks | {name: _is_unfit(name) for name in TEXTS if name in rows.columns}


def _refuse(rows: DataFrame, run: Run, name: str, how_many: str, first: int) -> NoReturn:
    place = _place(first)
    where = f"{how_many}, the first is {place}{_looks(rows, place)}"
    if name == "keyless":
        raise KeyRequired(
            f'there is no key {where}, and "{run.queue}" is a FIFO queue: filter them out, or '
            "enqueue them into another queue"
        )
    if name == "without payload":
        raise psycopg.errors.NullValueNotAllowed(f'column "payload" is null {where}')
    raise psycopg.errors.CharacterNotInRepertoire(
        f'column "{name}" holds a NUL character, or bytes that are not UTF-8, {where}'
    )


def _doubts(rows: DataFrame, is_text: bool) -> Iterator[Column]:
    """Of which rows only the database can tell whether it takes them.

    Not what no row but a very large one has: it would have to go through the driver.
    """
    yield _may_be_no_json(is_text)
    for name, most_bytes in (("singleton_key", 1024), ("dedup_id", 1024), ("job_type", 255)):
        if name in rows.columns:
            column = F.col(name)
            yield F.coalesce(F.octet_length(column) > most_bytes, F.lit(name == "job_type"))
            yield F.coalesce((column == "") & F.lit(name != "job_type"), F.lit(False))
    if "priority" in rows.columns:
        yield F.coalesce(~F.col("priority").between(INTEGERS[0], INTEGERS[-1]), F.lit(True))
    if "tags" in rows.columns:
        is_odd = F.exists(
            "tags", lambda tag: tag.isNull() | (tag == "") | (F.octet_length(tag) > 255)
        )
        texts = F.octet_length(F.array_join("tags", " "))
        yield F.coalesce(is_odd | (texts > 1024), F.lit(True))
    if "run_at" in rows.columns:
        yield F.coalesce(~F.year("run_at").between(2, 9998), F.lit(False))
    if "after" in rows.columns:
        after = F.coalesce("after", F.array().cast("array<bigint>"))
        is_odd = F.exists(after, lambda job_id: job_id.isNull()) | (F.size(after) > MOST_PARENTS)
        if "on_failed" in rows.columns:
            word = F.coalesce("on_failed", F.lit("wait"))
            is_odd |= ~word.isin(*ON_FAILED) | ((word != "wait") & (F.size(after) == 0))
        yield is_odd


def _may_be_no_json(is_text: bool) -> Column:
    payload = F.col("payload")
    if not is_text:
        return F.contains(payload, F.lit("\\u0000"))  # Spark wrote the rest
    # One expression for all takes five times as long: most texts need one of them, a simple one.
    odd = F.contains(payload, F.lit("\\u")) & F.regexp_like(payload, F.lit(ODD_ESCAPES))
    odd |= F.regexp_like(payload, F.lit(LARGE_EXPONENT))
    may_be_long = F.octet_length(payload) >= MANY_DIGITS
    odd |= may_be_long & F.regexp_like(payload, F.lit(rf"\d{{{MANY_DIGITS}}}"))
    # Spark ignores what follows a value: what closes one of the two does not close the other.
    is_json = _is_json_within("[", "]") & _is_json_within('{"a":', "}")
    return F.coalesce(odd | ~is_json, F.lit(False))


def _is_json_within(head: str, tail: str) -> Column:
    text = F.concat(F.lit(head), F.col("payload"), F.lit(tail))
    return F.try_parse_json(text).isNotNull()


def _judge_all(rows: DataFrame, numbered: DataFrame, run: Run) -> None:
    last: int | None = -1
    while last is not None:
        last = _judge(rows, numbered.where(F.col(NUMBER) > last).orderBy(NUMBER), run)


def _judge(rows: DataFrame, numbered: DataFrame, run: Run, most: int = MOST_DOUBTFUL) -> int | None:
    """Lets the database stage the first rows of numbered ones, and takes that back.

    Raises what it refuses; says which row of `rows` that is. Returns the last number if there may
    be more.
    """
    stage = Stage(run.target, run.queue, run.run_id, fields_of(rows.schema))
    some = numbered.limit(most).toArrow()
    for batch in some.to_batches():
        try:
            stage.judge(batch)
        except RowRefused as error:
            refusal = error.refusal
            if refusal.place is None:
                refusal.throw()
            place = _place(batch.column(NUMBER)[refusal.place.row - 1].as_py())
            replace(refusal, place=place).throw(_looks(rows, place))
    return None if some.num_rows < most else int(some.column(NUMBER)[-1].as_py())


def _judge_largest(rows: DataFrame, run: Run) -> None:
    """The same for those payloads that probably are too large, or nested too deep."""
    numbered = rows.withColumn(NUMBER, F.monotonically_increasing_id())
    brackets = F.length(F.regexp_replace("payload", r"[^\[{]", ""))
    for size in (F.octet_length("payload"), brackets):
        _judge(rows, numbered.orderBy(size.desc()), run, most=3)


def _is_unfit(name: str) -> Column:
    """PostgreSQL refuses NUL, and Java would send two texts that are not UTF-8 as the same."""
    unfit = ~F.is_valid_utf8(name)
    # The payloads are most of what there is to look at, and in JSON the database finds NUL.
    return unfit if name == "payload" else unfit | F.contains(F.col(name), F.lit(NUL))


def _make_lanes(rows: DataFrame, run: Run) -> None:
    """Commits the lanes that the rows need, so that not each partition makes them for itself."""
    columns = [name for name in LANE if name in rows.columns]
    lanes = rows.select(*columns).distinct().limit(MOST_LANES).collect() if columns else []
    with run.target.connect() as connection:
        for lane in lanes or [{}]:
            given = lane.asDict() if columns else {}
            names = "".join(f", {name} => %({name})s::{LANE[name]}" for name in given)
            statement = f"select pgbaton.enqueue_batch(%(queue)s, '{{}}'{names})"
            connection.execute(statement, {"queue": run.queue, **given})


def _result(
    run: Run, before: dict[int, tuple[int, int]], aside: int, seconds: float, method: Method
) -> Enqueued:
    parts = tuple(
        Part(part, 0, 0, jobs) if part in before else Part(part, jobs, duplicates, 0)
        for part, (jobs, duplicates) in sorted(run.done().items())
    )
    return Enqueued(
        run.run_id,
        sum(part.inserted for part in parts),
        sum(part.deduped for part in parts),
        sum(part.already for part in parts),
        aside,
        parts,
        seconds,
        method,
    )
