"""A Django project with one app, `shop`, in a database of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

SITE = "pgbaton_test_site"


def database(dsn: str) -> dict[str, Any]:
    part = conninfo_to_dict(dsn)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "PORT": part["port"],
        **{name: part[ours] for name, ours in names.items()},
    }


TASKS = {
    "default": {
        "BACKEND": "pgbaton.django.tasks.PgbatonBackend",
        "QUEUES": ["default", "mail", "orders"],
        "OPTIONS": {"queues": {"orders": {"policy": "fifo", "max_attempts": 2}}},
    }
}

CONTRIB = [f"django.contrib.{app}" for app in ("admin", "auth", "contenttypes", "sessions")]
CONTRIB.append("django.contrib.messages")
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
PROCESSORS = ["template.context_processors.request", "contrib.auth.context_processors.auth"]
PROCESSORS.append("contrib.messages.context_processors.messages")
TEMPLATES = {
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": [f"django.{one}" for one in PROCESSORS]},
}


@pytest.fixture(scope="session")
def site(server_dsn: str) -> Iterator[str]:
    """Django is set up and migrated; the DSN of its database."""
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"drop database if exists {SITE} with (force)")
        admin.execute(f"create database {SITE}")
    dsn = make_conninfo(server_dsn, dbname=SITE)
    settings.configure(
        DATABASES={"default": database(dsn)},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[*CONTRIB, "pgbaton.django", "shop"],
        MIDDLEWARE=MIDDLEWARE,
        ROOT_URLCONF="shop.urls",
        SECRET_KEY="of tests",  # noqa: S106
        TEMPLATES=[TEMPLATES],
        MIGRATION_MODULES={"shop": None},
        TASKS=TASKS,
        USE_TZ=True,
    )
    django.setup()
    call_command("migrate", verbosity=0, run_syncdb=True)
    yield dsn
    connections.close_all()
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"drop database {SITE} with (force)")


@pytest.fixture
def shop(site: str) -> Iterator[psycopg.Connection[Any]]:
    """Another connection to the site's database, which is cleaned afterwards."""
    from django.db import connection
    from shop.models import Order

    from pgbaton.testing import clean

    with psycopg.connect(site, autocommit=True) as other:
        yield other
        connection.close()
        clean(other)
    Order.objects.all().delete()
