"""A list of jobs in Django's admin, to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import DEFAULT_DB_ALIAS, transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from pgbaton._arguments import JobSearch
from pgbaton._text import sentence
from pgbaton.client import Client
from pgbaton.django._connections import client
from pgbaton.django._queues import our_backends
from pgbaton.django.models import Job
from pgbaton.models import JobState, ListedJob, LiveStat

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Job]
else:
    ModelAdmin = admin.ModelAdmin

ROWS = 100
MOST = 10_000
"""Queues are counted no further than this, so that the list costs the same however many wait."""


@admin.register(Job)
class JobAdmin(ModelAdmin):
    """Who has the permission `pgbaton.view_job` may look; nobody changes anything here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Jobs are enqueued by programs."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """The page of pgbaton repairs them."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """The page of pgbaton deletes them."""
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Queues with their numbers, and jobs, the latest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        options = [backend.get("OPTIONS", {}) for backend in our_backends()] or [{}]
        databases = list(dict.fromkeys(o.get("database", DEFAULT_DB_ALIAS) for o in options))
        using = request.GET.get("database", "")
        context = {
            **self.admin_site.each_context(request),
            **(extra_context or {}),
            "title": "Jobs",
            "opts": self.opts,
            "databases": databases if len(databases) > 1 else [],
            "states": list(JobState),
            "given": request.GET,
            "pages": [o["page"] for o in options if "page" in o],
            **look(using if using in databases else databases[0], request.GET),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/pgbaton/job/change_list.html", context)


def look(using: str, given: Any) -> dict[str, Any]:
    """What the list shows; what the database refuses is said in its place."""
    queues: list[LiveStat] = []
    jobs: list[ListedJob] = []
    following = None
    try:
        with transaction.atomic(using=using):
            ours = client(using)
            queues = ours.live_stats(most=MOST)
            jobs, following = found(ours, given)
    except psycopg.DatabaseError as error:
        return {"queues": queues, "jobs": jobs, "problem": sentence(error)}
    address = given.copy()
    if following is not None:
        address["after"] = following
    return {
        "queues": queues,
        "jobs": jobs,
        "following": None if following is None else address.urlencode(),
    }


def found(ours: Client, given: Any) -> tuple[list[ListedJob], str | None]:
    """A page of the jobs that fit the address, and where the next one begins."""
    wanted = JobSearch()
    if queue := given.get("queue"):
        wanted["queue"] = queue
    if state := given.get("state"):
        wanted["states"] = [state]
    page = ours.find_jobs(wanted, ROWS, given.get("after") or None)
    return ours.list_jobs(page.job_ids), page.next_after
