"""The list of jobs in Django's admin."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgbaton import Client

Shop = psycopg.Connection[Any]
JOBS = "/admin/pgbaton/job/"


@pytest.fixture
def browser(shop: Shop) -> Iterator[Any]:
    """Of somebody who may look at jobs and at nothing else."""
    from django.contrib.auth.models import Permission, User
    from django.test import Client as Browser

    user = User.objects.create_user("ann", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_job"))
    browser = Browser()
    browser.force_login(user)
    yield browser
    user.delete()


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.content.decode())


def rows(page: str) -> list[list[str]]:
    """The cells of the list of jobs."""
    listed = page.partition('id="result_list"')[2]
    found = re.findall(r"<tr>(.*?)</tr>", listed, re.DOTALL)[1:]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in found]


def test_the_admin_leads_to_the_jobs(browser: Any, shop: Shop) -> None:
    assert JOBS in text_of(browser.get("/admin/"))
    assert rows(text_of(browser.get(JOBS))) == [["No job fits."]]


def test_jobs_are_listed_and_found(browser: Any, shop: Shop) -> None:
    client = Client(connection=shop)
    mail = client.enqueue_job("mail", {"secret": 1}, job_type="<b>", singleton_key="k")
    client.enqueue_job("default", max_attempts=1)
    [job] = client.claim_job_batch("w", ["default"])
    client.fail_job(job.id, "no such street", job.lease_token)

    page = text_of(browser.get(JOBS))
    assert [cells[0] for cells in rows(page)] == [str(job.id), str(mail)]
    assert rows(page)[1][1:6] == ["mail", "&lt;b&gt;", "k", "pending", "0 of 20"]
    assert "secret" not in page
    assert f'href="?queue={job.queue}&amp;state=failed">1</a>' in page
    for query, ids in {
        "queue=mail": [mail],
        "state=failed": [job.id],
        "queue=mail&state=failed": [],
    }.items():
        cells = rows(text_of(browser.get(f"{JOBS}?{query}")))
        assert [row[0] for row in cells if len(row) > 1] == [str(id) for id in ids]
    [failed] = rows(text_of(browser.get(f"{JOBS}?state=failed")))
    assert failed[-1].startswith("no such street")


def test_pages(browser: Any, shop: Shop) -> None:
    ids = Client(connection=shop).enqueue_batch("mail", range(150))
    first = text_of(browser.get(f"{JOBS}?queue=mail"))
    [following] = re.findall(r'<a href="(\?[^"]*)">Earlier', first)
    last = text_of(browser.get(JOBS + following.replace("&amp;", "&")))
    assert "Earlier" not in last
    assert [int(row[0]) for row in rows(first) + rows(last)] == ids[::-1]


def test_what_is_refused_is_said(browser: Any, shop: Shop) -> None:
    from django.contrib.auth.models import User

    page = text_of(browser.get(f"{JOBS}?state=asleep"))
    assert re.search(r'class="errornote">[^<]*asleep[^<]*\(22023\)', page), page
    assert "does not exist (PB001)" in text_of(browser.get(f"{JOBS}?queue=none"))
    assert User.objects.count() == 1


def test_nobody_else_looks_and_nobody_changes(browser: Any, shop: Shop) -> None:
    from django.contrib.auth.models import Permission, User

    job_id = Client(connection=shop).enqueue_job("mail")
    assert browser.get(f"{JOBS}add/").status_code == 403
    assert browser.post(f"{JOBS}{job_id}/delete/").status_code == 403
    assert browser.get(f"{JOBS}{job_id}/change/").status_code == 302  # it finds no row
    assert browser.post(f"{JOBS}{job_id}/change/").status_code in (302, 403)  # 302 since 6.1
    assert browser.post(JOBS, {"action": "delete_selected"}).status_code == 200
    assert Client(connection=shop).get_job(job_id).state == "pending"
    ann = User.objects.get()
    ann.user_permissions.remove(Permission.objects.get(codename="view_job"))
    assert browser.get(JOBS).status_code == 403
    assert JOBS not in text_of(browser.get("/admin/"))
    browser.logout()
    assert browser.get(JOBS).status_code == 302


def test_a_link_to_the_page_of_pgbaton(browser: Any) -> None:
    from django.conf import settings
    from django.test import override_settings

    assert "page of pgbaton" not in text_of(browser.get(JOBS))
    default = settings.TASKS["default"]
    options = {**default["OPTIONS"], "page": "https://jobs.example.com/"}
    with override_settings(TASKS={"default": {**default, "OPTIONS": options}}):
        assert '<a href="https://jobs.example.com/">' in text_of(browser.get(JOBS))


def test_one_of_several_databases(browser: Any, shop: Shop) -> None:
    from django.conf import settings
    from django.db import connections
    from django.test import override_settings

    job_id = Client(connection=shop).enqueue_job("mail")
    default = settings.TASKS["default"]
    second = {**default, "OPTIONS": {"database": "second"}}
    connections.settings["second"] = connections.settings["default"]
    try:
        with override_settings(TASKS={"default": default, "second": second}):
            assert "<option>second</option>" in text_of(browser.get(JOBS))
            assert connections["second"].connection is None
            page = text_of(browser.get(f"{JOBS}?database=second"))
            assert connections["second"].connection is not None
            assert "<option selected>second</option>" in page
            assert [row[0] for row in rows(page)] == [str(job_id)]
            text_of(browser.get(f"{JOBS}?database=none"))  # the first one
    finally:
        connections["second"].close()
        del connections["second"], connections.settings["second"]


def test_the_model_has_no_rows(shop: Shop) -> None:
    from django.core.management import call_command

    Client(connection=shop).enqueue_job("mail")
    said = io.StringIO()
    call_command("dumpdata", "pgbaton", "--all", stdout=said)
    assert said.getvalue().strip() == "[]"
