"""Databases that are not UTF-8: texts come back as they were, or it is an error."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors as pg
from psycopg.conninfo import make_conninfo

from pgbaton import Client
from pgbaton.install import install

WORDS = "Käse süß né"  # all of LATIN1


@pytest.fixture(scope="module", params=["UTF8", "LATIN1", "SQL_ASCII"])
def database(request: pytest.FixtureRequest, server_dsn: str) -> Iterator[tuple[str, str]]:
    """The encoding of a database that pgbaton is installed in, and its DSN."""
    name = f"pgbaton_{request.param.lower()}_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(
            f"create database {name} encoding '{request.param}' locale 'C' template template0"  # type: ignore[arg-type]
        )
        dsn = make_conninfo(server_dsn, dbname=name)
        install(dsn)
        yield request.param, dsn
        admin.execute(f"drop database {name} with (force)")  # type: ignore[arg-type]


@pytest.fixture
def client(database: tuple[str, str]) -> Iterator[Client]:
    with Client(database[1]) as client:
        client.create_fifo_queue(WORDS, max_attempts=1)
        yield client
        client.drop_queue(WORDS, force=True)


def test_a_whole_life(client: Client) -> None:
    payload = {WORDS: [WORDS, 1]}
    jobs = [
        client.enqueue_job(
            WORDS,
            payload,
            singleton_key=WORDS,
            tags=[WORDS],
            job_type=WORDS,
            dedup_id=f"{WORDS}{n}",
        )
        for n in range(2)
    ]
    [first] = client.claim_job_batch(WORDS, [WORDS], job_types=[WORDS], tags=[WORDS])
    assert (first.id, first.payload, first.singleton_key) == (jobs[0], payload, WORDS)
    assert (first.tags, first.job_type, first.queue) == ([WORDS], WORDS, WORDS)
    client.fail_job(first.id, WORDS, first.lease_token)
    [blocked] = client.blocked_keys(WORDS)
    assert (blocked.singleton_key, blocked.last_error) == (WORDS, WORDS)
    client.skip_job(WORDS, first.id, WORDS)
    [second] = client.claim_job_batch(WORDS, [WORDS])
    client.complete_job(second.id, {WORDS: WORDS}, second.lease_token)
    assert client.get_job(second.id).result == {WORDS: WORDS}
    assert client.get_job(second.id).dedup_id == f"{WORDS}1"


@pytest.mark.parametrize("key", ["a", WORDS, "ÿ"])
def test_stripes_come_from_utf_8(client: Client, database: tuple[str, str], key: str) -> None:
    """A producer outside the database computes them too: first byte of sha256 of the key."""
    with psycopg.connect(database[1], client_encoding="UTF8") as conn:
        [(stripe,)] = conn.execute("select pgbaton._stripe(3, %s)", [key]).fetchall()
    assert stripe == 3 * 256 + hashlib.sha256(key.encode()).digest()[0]


def test_what_the_database_cannot_store(client: Client, database: tuple[str, str]) -> None:
    encoding, _ = database
    if encoding == "LATIN1":
        with pytest.raises(pg.UntranslatableCharacter):
            client.enqueue_job(WORDS, "漢", singleton_key="k")
        with pytest.raises(pg.UntranslatableCharacter):
            client.enqueue_job(WORDS, singleton_key="漢")
        assert client.queue_stats(WORDS)[0].total == 0
    else:
        job = client.enqueue_job(WORDS, "漢", singleton_key="漢")
        assert (client.get_job(job).payload, client.get_job(job).singleton_key) == ("漢", "漢")


def test_a_connection_of_the_caller_in_another_encoding(database: tuple[str, str]) -> None:
    encoding, dsn = database
    with psycopg.connect(dsn, autocommit=True, client_encoding="LATIN1") as conn:
        client = Client(connection=conn)
        client.create_queue("mail")
        client.enqueue_job("mail", {WORDS: WORDS})
        if encoding != "SQL_ASCII":  # where LATIN1 goes in unchecked and comes out as it went in
            with Client(dsn) as other:
                assert other.get_job(other.claim_job_batch("w", ["mail"])[0].id).payload == {
                    WORDS: WORDS
                }
            client.enqueue_job("mail", {WORDS: WORDS})
        client.enqueue_batch("mail", [WORDS, None, {WORDS: WORDS}])
        jobs = client.claim_job_batch("w", ["mail"])
        assert sorted(map(repr, (job.payload for job in jobs))) == sorted(
            map(repr, ({WORDS: WORDS}, WORDS, None, {WORDS: WORDS}))
        )
        with pytest.raises(UnicodeEncodeError):
            client.enqueue_batch("mail", ["漢"])
        client.drop_queue("mail", force=True)


def test_a_connection_without_an_encoding_is_refused(database: tuple[str, str]) -> None:
    with (
        psycopg.connect(database[1], client_encoding="SQL_ASCII") as conn,
        pytest.raises(ValueError, match="set it to UTF8"),
    ):
        Client(connection=conn).list_queues()


def test_a_key_that_is_no_utf_8(client: Client, database: tuple[str, str]) -> None:
    """Only SQL_ASCII takes any bytes, but not for a key: its stripe is computed from UTF-8."""
    encoding, dsn = database
    with psycopg.connect(dsn, autocommit=True, client_encoding=encoding) as conn:
        queue = WORDS.encode("utf-8" if encoding == "SQL_ASCII" else encoding)
        call = b"select pgbaton.enqueue_job('" + queue + b"', singleton_key => '\xe4')"
        if encoding == "LATIN1":
            conn.execute(call)
            assert [stat.singleton_key for stat in client.fifo_stats(WORDS)] == ["ä"]
        else:
            with pytest.raises(pg.CharacterNotInRepertoire):
                conn.execute(call)
            assert client.queue_stats(WORDS)[0].total == 0
