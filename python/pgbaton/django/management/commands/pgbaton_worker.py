"""`manage.py pgbaton_worker`: runs the tasks of a backend."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError, CommandParser

from pgbaton._text import sentence
from pgbaton.django._connections import what_to_run
from pgbaton.django._worker import make_worker
from pgbaton.errors import IncompatibleServer, UnknownQueue


class Command(BaseCommand):
    help = "Runs tasks until it is stopped: by SIGTERM or SIGINT, the second one at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--backend", default="default", help="alias in the setting TASKS")
        parser.add_argument(
            "--queue", action="append", metavar="NAME", help="only this one; may be repeated"
        )
        parser.add_argument(
            "--capacity", type=int, default=10, help="tasks that run at once; default 10"
        )
        parser.add_argument("--worker-id", help="its name; default host, process and a random part")
        parser.add_argument(
            "--shutdown-timeout",
            type=float,
            default=30,
            metavar="SECONDS",
            help="how long tasks may go on after a stop; default 30",
        )

        parser.add_argument(
            "--burst",
            action="store_true",
            help="end as soon as nothing can be claimed; exit code 1 if a task failed",
        )
        parser.add_argument(
            "--health", metavar="HOST:PORT", help="answer GET /healthz and /readyz there"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            worker = make_worker(
                options["backend"],
                options["queue"],
                capacity=options["capacity"],
                worker_id=options["worker_id"],
                shutdown_timeout=timedelta(seconds=options["shutdown_timeout"]),
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"worker {worker.worker_id} runs", ending="\n")
        self.stdout.flush()
        try:
            counts = worker.run(burst=options["burst"], health=options["health"])
        except IncompatibleServer as error:
            raise CommandError(what_to_run(error)) from error
        except UnknownQueue as error:
            raise CommandError(
                f"{sentence(error)}: name it in QUEUES of the setting TASKS and run manage.py"
                " migrate"
            ) from error
        except psycopg.Error as error:
            raise CommandError(sentence(error)) from error
        except (OSError, ValueError) as error:  # of health
            raise CommandError(str(error)) from error
        if options["burst"] and counts.failed:
            raise CommandError(f"{counts.failed} tasks failed")
