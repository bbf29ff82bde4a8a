"""The queues that the setting TASKS names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections, router
from django.utils.module_loading import import_string

from pgbaton import install
from pgbaton.client import Client
from pgbaton.django._connections import client, problem_of

BACKEND = "pgbaton.django.tasks.PgbatonBackend"


def create_missing_queues(using: str) -> None:
    """Creates those that do not exist; what exists stays as it is."""
    wanted = queues_of(using)
    if not wanted or problem_of(using) or not router.allow_migrate(using, "pgbaton"):
        return
    wrapper = connections[using]
    wrapper.ensure_connection()
    if install.installed(wrapper.connection) is None:  # migrated backwards, or faked
        return
    ours = client(using)
    there = {queue.queue for queue in ours.list_queues()}
    for name, options in wanted.items():
        if name not in there:
            create(ours, name, options)


def create(client: Client, name: str, options: Mapping[str, Any]) -> None:
    given = dict(options)
    if given.get("policy") == "fifo":
        del given["policy"]
        client.create_fifo_queue(name, **given)
    else:
        client.create_queue(name, **given)


def queues_of(using: str) -> dict[str, Mapping[str, Any]]:
    """By name, with what OPTIONS say of them."""
    found: dict[str, Mapping[str, Any]] = {}
    for params in our_backends():
        options = params.get("OPTIONS", {})
        if options.get("database", DEFAULT_DB_ALIAS) == using:
            described = options.get("queues", {})
            names = params.get("QUEUES", ["default"])
            found.update({name: described.get(name, {}) for name in [*names, *described]})
    return found


def our_backends() -> list[dict[str, Any]]:
    """What the setting TASKS says of those that are pgbaton's."""
    tasks: Mapping[str, dict[str, Any]] = getattr(settings, "TASKS", {})
    return [params for params in tasks.values() if is_ours(params["BACKEND"])]


def is_ours(backend: str) -> bool:
    if backend == BACKEND:
        return True
    try:
        kind = import_string(backend)
    except ImportError:  # which Django says where it is used
        return False
    return any(f"{base.__module__}.{base.__qualname__}" == BACKEND for base in kind.__mro__)
