"""The app: checks, migrations and queues."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgbaton.install import install, installed, version

Shop = psycopg.Connection[Any]


def connection_to(dsn: str) -> Any:
    """A connection of Django to another database."""
    from django.db import connections

    site_database = connections["default"].settings_dict
    from psycopg.conninfo import conninfo_to_dict

    connections.settings["other"] = {**site_database, "NAME": conninfo_to_dict(dsn)["dbname"]}
    return connections["other"]


@pytest.fixture
def other(site: str, empty_dsn: str) -> Any:
    from django.db import connections

    connection = connection_to(empty_dsn)
    yield connection
    connection.close()
    del connections["other"]
    del connections.settings["other"]


def test_migrate_installs_and_goes_on_after_an_install(other: Any) -> None:
    from django.core.management import call_command

    call_command("migrate", database="other", verbosity=0)
    found = installed(other.connection)
    assert found is not None
    assert found.version == version()
    with other.cursor() as cursor:
        cursor.execute("select pgbaton.create_queue('q')")
        cursor.execute("delete from django_migrations where app = 'pgbaton'")
    call_command("migrate", database="other", verbosity=0)  # it was installed without Django
    with other.cursor() as cursor:
        cursor.execute("select count(*) from pgbaton.list_queues()")
        assert cursor.fetchone() == (1,)  # queues of TASKS belong into the other database


def test_migrate_upgrades_an_earlier_release(other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pgbaton import _assemble
    from pgbaton.django import _migrating
    from pgbaton.django._migrating import install_or_upgrade

    other.ensure_connection()
    install(other.connection)
    called: list[str] = []
    monkeypatch.setattr(_assemble, "earlier_releases", lambda root: [version()])
    monkeypatch.setattr(_migrating.install, "upgrade", lambda target: called.append("upgrade"))
    install_or_upgrade(other.connection)
    assert called == ["upgrade"]


def test_there_is_a_migration_for_each_release() -> None:
    from pathlib import Path

    import pgbaton.django.migrations as package
    from pgbaton import _assemble

    all_files = sorted(Path(package.__path__[0]).glob("0*.py"))
    files = [file.stem for file in all_files if "(InstallOrUpgrade(),)" in file.read_text("utf-8")]
    earlier = len(_assemble.earlier_releases(_assemble.source_root()))
    assert len(files) == earlier + 1, (
        "migrate must upgrade: add one like 0001_install.py, named for this version"
    )


def test_it_is_not_undone(other: Any) -> None:
    from django.core.management import call_command
    from django.db.migrations.exceptions import IrreversibleError

    call_command("migrate", database="other", verbosity=0)
    with pytest.raises(IrreversibleError, match="drop all jobs"):
        call_command("migrate", "pgbaton", "zero", database="other", verbosity=0)
    assert installed(other.connection) is not None


def test_a_router_may_keep_it_out(other: Any) -> None:
    from django.core.management import call_command
    from django.test import override_settings

    class Router:
        def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool | None:
            return False if app_label == "pgbaton" else None

    with override_settings(DATABASE_ROUTERS=[Router()]):
        call_command("migrate", database="other", verbosity=0)
    other.ensure_connection()
    assert installed(other.connection) is None


def test_no_model_is_out_of_step(site: str) -> None:
    from django.core.management import call_command

    call_command("makemigrations", "pgbaton", check=True, dry_run=True, verbosity=0)


def test_queues_are_as_the_settings_say(shop: Shop) -> None:
    rows = shop.execute(
        "select queue, policy::text, max_attempts from pgbaton.list_queues() order by 1"
    ).fetchall()
    assert [row[:2] for row in rows] == [
        ("default", "standard"),
        ("mail", "standard"),
        ("orders", "fifo"),
    ]
    assert rows[2][2] == 2


def test_checks(site: str) -> None:
    from django.core.checks import run_checks
    from django.test import override_settings

    from pgbaton.django._framework import task_backends

    assert run_checks() == []
    backend = {"BACKEND": "pgbaton.django.tasks.PgbatonBackend"}
    for options, said in [({"database": "none"}, "DATABASES has no"), ({"wrong": 1}, "wrong")]:
        with override_settings(TASKS={"default": {**backend, "OPTIONS": options}}):
            found = task_backends["default"].check()
            assert any(said in message.msg for message in found), found
    with override_settings(INSTALLED_APPS=["shop"]):
        assert any("migrate" in message.msg for message in task_backends["default"].check())


WRONG_DATABASE = """
import sys
import django
from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["pgbaton.django"],
    TASKS={"default": {"BACKEND": "pgbaton.django.tasks.PgbatonBackend"}},
)
django.setup()
for command, kind in (("check", SystemCheckError), ("pgbaton_worker", CommandError)):
    try:
        call_command(command, stdout=sys.stderr)
    except kind as error:
        assert "is sqlite: pgbaton needs PostgreSQL" in str(error), error
        print(command)
"""


def test_a_database_of_another_kind_is_refused_where_it_matters() -> None:
    """In a process of its own, where nobody has imported the framework of tasks before."""
    done = subprocess.run([sys.executable, "-c", WRONG_DATABASE], capture_output=True, text=True)
    assert done.stdout.split() == ["check", "pgbaton_worker"], done.stderr


def test_a_client_on_the_connection_of_the_thread(shop: Shop) -> None:
    from django.core.exceptions import ImproperlyConfigured
    from django.db import transaction

    from pgbaton.django import client

    with transaction.atomic():
        client().enqueue_job("default", 1)
        transaction.set_rollback(True)
    client().enqueue_job("default", 2)
    assert shop.execute("select payload from pgbaton.jobs").fetchall() == [(2,)]
    job_id = client(encode=str).enqueue_job("default", UUID(int=3))
    assert client().get_job(job_id).payload == str(UUID(int=3))
    with pytest.raises(ImproperlyConfigured, match="DATABASES has no 'none'"):
        client("none")


def test_in_a_forked_process(shop: Shop) -> None:
    """As in a server that loads the application before it forks: Django's connections are closed
    there, and a client is made for each call."""
    import os

    from django.db import connections
    from shop.tasks import add

    add.enqueue(1)
    connections.close_all()  # before a fork, as Django says
    child = os.fork()
    if child == 0:
        code = 1
        try:
            add.enqueue(2)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    add.enqueue(3)
    assert shop.execute("select count(*) from pgbaton.jobs").fetchone() == (3,)
