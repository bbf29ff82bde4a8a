"""The settings that the shop needs; yours have more."""

from __future__ import annotations

import os

from psycopg.conninfo import conninfo_to_dict

_database = conninfo_to_dict(os.environ["DATABASE_URL"])
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _database.get("dbname"),
        "USER": _database.get("user"),
        "PASSWORD": _database.get("password"),
        "HOST": _database.get("host"),
        "PORT": _database.get("port"),
    }
}
INSTALLED_APPS = ["pgbaton.django", "shop"]
TASKS = {
    "default": {
        "BACKEND": "pgbaton.django.tasks.PgbatonBackend",
        "QUEUES": ["default", "parcels"],
        "OPTIONS": {
            "queues": {"parcels": {"policy": "fifo", "max_attempts": 5}},
            "worker": "shop.tasks.prepare",
        },
    }
}
ROOT_URLCONF = "shop.urls"
SECRET_KEY = "not one for production"  # noqa: S105
ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
