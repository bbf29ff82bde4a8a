"""What an operator does on the page: find, understand and repair one job or a thousand."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from browser import VIEWS, go, opened, row, show_job
from exact import PAYLOAD
from load import wait_until
from playwright.sync_api import Browser, Locator, Page, expect
from serving import Served, database, serving

from pgbaton import Client, JobState
from pgbaton.http import _watch

QUEUES = 51
KEYS = 300
LETTERS = 20_000
LONG = "queue-\N{GREEK SMALL LETTER OMEGA}\N{CJK UNIFIED IDEOGRAPH-65E5}" + "x" * 45


def answer(page: Page, word: str, **fields: str) -> None:
    """Answers the question that is open."""
    dialog = page.get_by_role("dialog")
    for label, value in fields.items():
        dialog.get_by_label(label).fill(value)
    dialog.get_by_role("button", name=word, exact=True).click()


def said(page: Page) -> Locator:
    return page.locator("#said")


def fail(client: Client, queue: str, payloads: list[Any], error: str, **options: Any) -> list[int]:
    """Dead letters."""
    made = client.enqueue_batch(queue, payloads, **options)
    for start in range(0, len(made), 1000):
        jobs = client.claim_job_batch("failing", [queue], batch_size=1000)
        client.fail_jobs([j.id for j in jobs], [error] * len(jobs), jobs[0].lease_token, False)
        assert len(jobs) == min(1000, len(made) - start)
    return made


# Many of everything ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded(server_dsn: str, template: str) -> Iterator[tuple[Served, Client]]:
    """51 queues, 300 blocked keys and 20,000 dead letters."""
    with database(server_dsn, template, "crowd") as dsn, Client(dsn) as client:
        for n in range(QUEUES - 3):
            client.create_queue(f"idle-{n}")
        client.create_queue(LONG)
        client.create_fifo_queue("orders", max_attempts=1)
        client.create_queue("mail", max_attempts=1)
        keys = [f"customer {n // 2}" for n in range(2 * KEYS)]
        client.enqueue_batch("orders", [{"n": n} for n in range(2 * KEYS)], singleton_keys=keys)
        jobs = client.claim_job_batch("w", ["orders"], batch_size=KEYS)
        client.fail_jobs([j.id for j in jobs], ["card declined"] * KEYS, jobs[0].lease_token, False)
        fail(client, "mail", list(range(LETTERS)), "timeout")
        with serving(dsn, "--cleanup-interval", "0", "--refresh", "0.3") as served:
            yield served, client


@pytest.fixture
def crowd(browser: Browser, crowded: tuple[Served, Client]) -> Iterator[Page]:
    yield from opened(browser, crowded[0])


def test_home_says_first_what_is_wrong(crowd: Page) -> None:
    troubles = crowd.get_by_role("list", name="Warnings").get_by_role("listitem")
    first = troubles.filter(has_text="orders")
    expect(first).to_contain_text("300 keys blocked, the longest for")
    expect(first).to_contain_text("300 dead letters")
    expect(troubles.filter(has_text="mail")).to_contain_text("10,000+ dead letters")
    order = crowd.evaluate(
        "document.querySelector('#wrong').compareDocumentPosition(document.querySelector('#queues'))"
    )
    assert order & 4  # what is wrong stands before the queues
    first.get_by_role("link", name="Blocked keys of orders").click()
    expect(crowd.get_by_label("Blocked in")).to_have_value("orders")
    expect(crowd.locator("#blocked-table tbody tr")).to_have_count(20)
    assert crowd.evaluate("location.hash") == "#blocked/orders"


def test_idle_queues_are_folded(crowd: Page) -> None:
    rows = crowd.locator("#queues tbody tr:visible")
    expect(rows).to_have_count(2)
    assert crowd.evaluate("document.documentElement.scrollHeight") < 1000
    crowd.get_by_role("button", name="Show 49 idle queues").click()
    expect(rows).to_have_count(QUEUES)
    crowd.get_by_role("button", name="Hide 49 idle queues").click()
    expect(rows).to_have_count(2)
    crowd.get_by_label("Name contains").fill("IDLE-4")
    expect(rows).to_have_count(9)
    rows.first.get_by_role("link").click()
    expect(crowd.get_by_label("In queue")).to_have_value("idle-4")
    expect(crowd.locator("#jobs .nothing")).to_have_text("None here, and no more.")


def test_blocked_keys_are_filtered_and_paged(crowd: Page) -> None:
    section = go(crowd, "blocked")
    rows = crowd.locator("#blocked-table tbody tr")
    count = section.locator("#blocked-title .count")
    expect(count).to_have_text("page 1")
    expect(rows).to_have_count(20)
    first = rows.first.locator("th").inner_text()
    section.get_by_role("button", name="Next").click()
    expect(count).to_have_text("page 2")
    expect(rows).to_have_count(20)
    assert rows.first.locator("th").inner_text() != first
    section.get_by_role("button", name="Before").click()
    expect(count).to_have_text("page 1")
    assert rows.first.locator("th").inner_text() == first
    section.get_by_label("Key contains").fill("customer 29")
    expect(rows).to_have_count(11)
    expect(count).to_have_text("11")
    expect(rows.filter(has_text="customer 29orders")).to_contain_text("card declined")


@pytest.mark.parametrize("width", [375, 800, 1057, 1280])
def test_every_view_fits(browser: Browser, crowded: tuple[Served, Client], width: int) -> None:
    for page in opened(browser, crowded[0], viewport={"width": width, "height": 800}):
        expect(row(page, "queues", "orders")).to_be_visible()
        page.get_by_role("button", name="Show 49 idle queues").click()
        expect(row(page, "queues", LONG)).to_be_visible()
        for section in VIEWS:
            go(page, section)
            if section in ("blocked", "dead"):
                expect(page.locator(f"#{section} tbody tr").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, section


# All that match --------------------------------------------------------------------------------


def search(page: Page, **fields: str) -> Locator:
    """The row of buttons for all that match."""
    form = go(page, "jobs").locator("form")
    for label, value in fields.items():
        field = form.get_by_label(label)
        if label == "State":
            field.select_option(value)
        else:
            field.fill(value)
    form.get_by_role("button", name="Search").click()
    expect(page.locator("#jobs .nothing")).not_to_be_empty()
    return page.locator("#bulk")


def test_all_that_match_are_counted_retried_and_counted(
    page: Page, client: Client, gateway_dsn: str
) -> None:
    name = f"bulk-{uuid.uuid4().hex[:8]}"
    client.create_queue(name, max_attempts=1)
    fail(client, name, list(range(1200)), "no answer: timeout")
    others = fail(client, name, [1, 2], "refused")
    bulk = search(page, **{"In queue": name, "State": "failed", "Error contains": "timeout"})
    expect(bulk.get_by_role("button")).to_have_text(
        ["Retry all", "Skip all", "Requeue all", "Delete all", "Erase all"]
    )
    bulk.get_by_role("button", name="Retry all").click()
    expect(page.get_by_role("dialog", name="Retry 1,200 jobs?")).to_be_visible()
    assert client.live_stats(name)[0].dlq == 1202  # counted, and not touched
    answer(page, "Retry all", Reason="the mail server is back")
    expect(said(page)).to_have_text("Retried 1,200 jobs.")
    [live] = client.live_stats(name)
    assert (live.dlq, live.retrying + live.pending) == (2, 1200)
    assert {job.id for job in client.list_dead_jobs(name)} == set(others)
    expect(page.locator("#jobs .nothing")).to_have_text("None here, and no more.")
    with psycopg.connect(gateway_dsn) as conn:
        [(count,)] = conn.execute(
            "select count(*) from pgbaton.audit where action = 'act_on_jobs' and queue = %s"
            " and reason like '%%the mail server is back'",
            [name],
        ).fetchall()
    assert count >= 3
    client.drop_queue(name, force=True)


def test_all_that_match_are_moved(page: Page, client: Client) -> None:
    name = f"moved-{uuid.uuid4().hex[:8]}"
    client.create_queue(name)
    made = client.enqueue_batch(name, range(1200), job_type="mail")
    other = client.enqueue_job(name)
    bulk = search(page, **{"In queue": name, "State": "pending", "Type": "mail"})
    bulk.get_by_role("button", name="Reschedule all").click()
    expect(page.get_by_role("dialog", name="Reschedule 1,200 jobs?")).to_be_visible()
    assert client.live_stats(name)[0].scheduled == 0  # counted, and not touched
    answer(page, "Reschedule all", **{"Not before": "2040-01-01T09:00", "Reason": "a holiday"})
    expect(said(page)).to_have_text("Rescheduled 1,200 jobs.")
    assert client.live_stats(name)[0].scheduled == 1200
    bulk.get_by_role("button", name="Priority of all").click()
    expect(page.get_by_role("dialog", name="Priority of 1,200 jobs?")).to_be_visible()
    answer(page, "Priority of all", **{"A whole number": "900"})
    expect(said(page)).to_have_text("Moved 1,200 jobs.")
    bulk.get_by_role("button", name="Reschedule all").click()
    answer(page, "Reschedule all")
    expect(said(page)).to_have_text("Rescheduled 1,200 jobs.")
    claimed = [job.id for job in client.claim_job_batch("w", [name], batch_size=1201)]
    assert claimed == [*made, other]
    client.drop_queue(name, force=True)


def test_what_goes_on_can_be_stopped(crowd: Page, crowded: tuple[Served, Client]) -> None:
    _, client = crowded
    go(crowd, "dead").get_by_label("Queue", exact=True).select_option("mail")
    crowd.get_by_role("button", name="Skip all dead letters of mail").click()
    expect(crowd.get_by_role("dialog", name="Skip 20,000 jobs?")).to_be_visible()
    answer(crowd, "Skip all")
    crowd.get_by_role("button", name="Stop").click()
    expect(said(crowd)).to_have_text(
        re.compile(r"Stopped\. Skipped [\d,]+ jobs\. The others are as they were\.")
    )
    found = re.search(r"[\d,]+", said(crowd).inner_text())
    assert found
    skipped = int(found[0].replace(",", ""))
    assert 0 < skipped < LETTERS
    assert client.live_stats("mail")[0].dlq == LETTERS - skipped


def test_nothing_is_offered_for_all_jobs_there_are(page: Page, client: Client, queue: str) -> None:
    client.enqueue_batch(queue, [1, 2, 3])
    bulk = search(page)
    expect(bulk).to_be_hidden()
    bulk = search(page, **{"In queue": queue, "State": "pending"})
    expect(bulk.get_by_role("button")).to_have_text(
        ["Reschedule all", "Priority of all", "Cancel all", "Delete all"]
    )
    bulk.get_by_role("button", name="Cancel all").click()
    answer(page, "Leave it")
    assert client.live_stats(queue)[0].pending == 3
    bulk.get_by_role("button", name="Cancel all").click()
    answer(page, "Cancel all")
    expect(said(page)).to_have_text("Cancelled 3 jobs.")
    assert client.live_stats(queue)[0].pending == 0


def test_what_fails_again_meanwhile_is_not_retried_again(
    gateway: Served, client: Client, queue: str
) -> None:
    client.update_queue(queue, max_attempts=1)
    fail(client, queue, [1], "no")
    step = {"action": "retry", "search": f"queue={queue}"}
    first = gateway.post("/ui/act", step)
    assert (first["done"], first["next_after"]) == (1, None)
    [job] = client.claim_job_batch("w", [queue])
    client.fail_job(job.id, "no", job.lease_token, retryable=False)
    assert gateway.post("/ui/act", step | {"before": first["before"]})["done"] == 0
    assert gateway.post("/ui/act", step | {"dry_run": True})["done"] == 1


def test_jobs_are_found_by_time(page: Page, client: Client, queue: str) -> None:
    [made] = client.enqueue_batch(queue, [1])
    now = datetime.now(UTC).replace(second=30)  # an input leaves out seconds that are 0
    fields = {"In queue": queue, "Enqueued after": local(page, now - timedelta(hours=1))}
    search(page, **fields)
    found = page.locator("#jobs tbody tr")
    expect(found).to_have_count(1)
    expect(found).to_contain_text(str(made))
    page.reload()  # the address has the instant, whatever the time zone of who opens it
    expect(found).to_have_count(1)
    expect(page.get_by_label("Enqueued after")).to_have_value(fields["Enqueued after"])
    search(page, **{"Enqueued after": local(page, now + timedelta(hours=1))})
    expect(found).to_have_count(0)


def local(page: Page, instant: datetime) -> str:
    """As an input of the browser has it."""
    text = page.evaluate("at => new Date(at).toLocaleString('sv-SE')", instant.isoformat())
    return str(text).replace(" ", "T")


# One job ---------------------------------------------------------------------------------------


def press(page: Page, word: str) -> None:
    page.locator("#job-detail").get_by_role("button", name=f"{word} job").click()


def test_a_job_is_moved_in_time_and_in_line(page: Page, client: Client, queue: str) -> None:
    job_id = client.enqueue_job(queue, delay="1 hour")
    show_job(page, job_id)
    press(page, "Reschedule")
    at = datetime.now(UTC) + timedelta(hours=2)
    page.get_by_role("dialog").get_by_label("Not before").fill(local(page, at))
    answer(page, "Reschedule")
    expect(said(page)).to_contain_text(re.compile(rf"Job {job_id} runs from .* on\."))
    run_at = client.get_job(job_id).run_at
    assert run_at is not None
    assert abs(run_at - at) < timedelta(seconds=2)
    press(page, "Priority")
    page.get_by_role("dialog").get_by_label("A whole number").fill("7")
    answer(page, "Priority")
    expect(said(page)).to_have_text(f"Job {job_id} has priority 7.")
    expect(page.locator("#job-detail dd").filter(has_text=re.compile("^7$"))).to_be_visible()
    press(page, "Run now")
    expect(said(page)).to_have_text(f"Job {job_id} runs at once.")
    buttons = page.locator("#job-detail").get_by_role("button")
    expect(buttons).to_have_text(["Reschedule", "Priority", "Cancel", "Delete"])
    assert [job.id for job in client.claim_job_batch("w", [queue])] == [job_id]


def test_a_job_that_runs_now_is_not_later_whatever_the_last_picture_said(
    page: Page, client: Client, queue: str
) -> None:
    job_id = client.enqueue_job(queue, delay="1 hour")
    no = {"status": 503, "json": {"error": "not now"}}
    page.route("**/ui/live", lambda route: route.fulfill(**no))  # no picture sets the clock right
    page.reload()
    show_job(page, job_id)
    expect(page.locator("#job-detail").get_by_role("button", name="Run now")).to_be_visible()
    page.evaluate(
        "async (at) => (await import('/static/dom.js')).setNow(at)",
        (datetime.now(UTC) - timedelta(minutes=1)).isoformat(),
    )
    press(page, "Run now")
    expect(said(page)).to_have_text(f"Job {job_id} runs at once.")
    buttons = page.locator("#job-detail").get_by_role("button")
    expect(buttons).to_have_text(["Reschedule", "Priority", "Cancel", "Delete"])


def test_behind_others_of_its_key_it_says_so(page: Page, client: Client, orders: str) -> None:
    [waiting] = client.find_jobs(
        {"queue": orders, "states": ["waiting"], "singleton_key": "slow"}
    ).job_ids
    show_job(page, waiting)
    press(page, "Reschedule")
    answer(page, "Reschedule")
    expect(said(page)).to_contain_text("others of its key run before it")


def test_a_job_is_cancelled_deleted_and_erased(page: Page, client: Client, queue: str) -> None:
    first, second = client.enqueue_batch(queue, [1, 2])
    buttons = show_job(page, first).get_by_role("button")
    expect(buttons).to_have_text(["Reschedule", "Priority", "Cancel", "Delete"])
    press(page, "Cancel")
    answer(page, "Cancel")
    expect(said(page)).to_have_text(f"Job {first} is cancelled, or asked to stop.")
    assert client.get_job(first).state == JobState.UNSCHEDULED
    show_job(page, second)
    press(page, "Delete")
    answer(page, "Delete")
    expect(said(page)).to_have_text(f"Job {second} was deleted.")
    assert client.get_job(second).resolution == "deleted"
    expect(buttons).to_have_text(["Erase"])
    press(page, "Erase")
    answer(page, "Erase")
    expect(said(page)).to_have_text(f"Job {second} was erased.")
    expect(page.locator("#job-detail .bad")).to_contain_text(str(second))


def test_jobs_that_wait_for_jobs(page: Page, client: Client, queue: str) -> None:
    client.update_queue(queue, max_attempts=1)
    [parent] = fail(client, queue, [1], "no paper")
    child = client.enqueue_job(queue, after=[parent])
    client.claim_job_batch("w", [queue])  # looks at what waits
    detail = show_job(page, child)
    expect(detail.get_by_role("heading", name="It waits for")).to_be_visible()
    expect(detail.locator(".others")).to_contain_text(f"of {queue}, failed")
    detail.get_by_role("link", name=f"Show job {parent}").click()
    expect(page.locator("#job-title")).to_have_text(f"Job {parent}")
    expect(detail.get_by_role("heading", name="Jobs that wait for it")).to_be_visible()
    line = page.locator("#blocked-jobs tbody tr").filter(has_text=str(child))
    go(page, "blocked")
    expect(line).to_contain_text("no paper")
    line.get_by_role("button", name="Stop waiting").click()
    answer(page, "Stop waiting", Reason="printed by hand")
    expect(said(page)).to_have_text(f"Job {child} waits for no other job.")
    expect(line).to_have_count(0)
    assert [job.id for job in client.claim_job_batch("w", [queue])] == [child]


def test_retry_is_the_first_button_where_a_key_waits(
    page: Page, client: Client, orders: str
) -> None:
    [job] = client.list_dead_jobs(orders)
    letter = row(page, "dead", str(job.id))
    expect(letter).to_contain_text("its key waits for it")
    first = letter.get_by_role("button").first
    expect(first).to_have_text("Retry")
    expect(first).to_have_class("strong")
    detail = show_job(page, job.id)
    expect(detail.get_by_role("button").first).to_have_text("Retry")
    detail.get_by_role("button", name="Requeue").click()
    expect(page.get_by_role("dialog")).to_contain_text("jobs that came later run before it")
    answer(page, "Leave it")
    press(page, "Skip")
    answer(page, "Skip", Reason="paid by hand")
    expect(detail.locator(".history").last).to_contain_text(
        re.compile("skip_job by .*paid by hand")
    )


def test_a_payload_is_a_tree_with_the_numbers_as_they_are(
    page: Page, client: Client, queue: str, gateway_dsn: str
) -> None:
    deep = {
        "list": list(range(250)),
        "name": 'a "quoted" \\ text',
        "empty": {},
        "a": {"b": {"c": 1}},
    }
    job_id = client.enqueue_job(queue, deep)
    tree = show_job(page, job_id).locator(".tree")
    expect(tree).to_contain_text("name: " + r'"a \"quoted\" \\ text"')
    expect(tree).to_contain_text("empty: {}")
    expect(tree.get_by_text("b: { 1 }")).to_be_visible()
    expect(tree.get_by_text("c: 1")).to_have_count(0)
    tree.get_by_text("b: { 1 }").click()
    expect(tree.get_by_text("c: 1")).to_be_visible()
    tree.get_by_text("list: [ 250 ]").click()
    expect(tree.get_by_text("99: 99")).to_be_visible()
    expect(tree.get_by_text("100: 100")).to_have_count(0)
    tree.get_by_role("button", name="150 more").click()
    tree.get_by_role("button", name="50 more").click()
    expect(tree.get_by_text("249: 249")).to_be_visible()
    with psycopg.connect(gateway_dsn, autocommit=True) as conn:
        [(exact, numbers)] = conn.execute(
            "select pgbaton.enqueue_job(%(q)s, %(p)s), array(select t.v from jsonb_path_query("
            " %(p)s::jsonb, '$.** ? (@.type() == \"number\")') as n (v), text(n.v) as t (v))",
            {"q": queue, "p": PAYLOAD},
        ).fetchall()
    tree = show_job(page, exact).locator(".tree")
    expect(tree).to_be_visible()
    closed = tree.locator("details:not([open]) > summary:visible")
    while closed.count() > 0:
        closed.first.click()
    shown = tree.locator(".number").all_inner_texts()
    assert set(numbers) == set(shown)


def test_the_time_of_a_job_is_a_bar(page: Page, client: Client, queue: str) -> None:
    job_id = client.enqueue_job(queue, max_attempts=3)
    [job] = client.claim_job_batch("w", [queue])
    client.fail_job(job.id, "no", job.lease_token, retry_in="0")
    [job] = client.claim_job_batch("w", [queue])
    client.complete_job(job.id, lease_token=job.lease_token)
    bar = show_job(page, job_id).get_by_role("img")
    name = r"waited in line .*, ran and failed .*, between attempts .*, ran .*"
    expect(bar).to_have_attribute("aria-label", re.compile(name))
    for kind in ("line", "failed", "between", "ran"):
        expect(bar.locator(f"rect.{kind}")).to_have_count(1)
    later = client.enqueue_job(queue, delay="1 hour")
    expect(show_job(page, later).get_by_role("img")).to_have_attribute(
        "aria-label", re.compile("waited for its time")
    )


# Queues, keys, schedules, audit ----------------------------------------------------------------


def test_a_queue_is_paused_and_resumed(page: Page, client: Client, queue: str) -> None:
    client.enqueue_job(queue)
    line = row(page, "queues", queue)
    line.get_by_role("button", name=f"Pause queue {queue}").click()
    expect(said(page)).to_contain_text(f"Queue {queue} is paused")
    assert client.live_stats(queue)[0].is_paused
    warning = page.get_by_role("list", name="Warnings").get_by_role("listitem")
    expect(warning.filter(has_text=queue)).to_contain_text("paused, and 1 job in line")
    line.get_by_role("button", name=f"Resume queue {queue}").click()
    expect(said(page)).to_contain_text(f"Queue {queue} is resumed")
    expect(line.get_by_role("button", name=f"Pause queue {queue}")).to_be_visible()
    assert not client.live_stats(queue)[0].is_paused


def test_a_customer_is_paused(page: Page, client: Client, orders: str) -> None:
    """A key, from one of its jobs or where it is blocked."""
    [job] = client.list_dead_jobs(orders)
    detail = show_job(page, job.id)
    detail.get_by_role("button", name="Pause key broken").click()
    expect(said(page)).to_contain_text("Key broken is paused")
    expect(detail).to_contain_text("(paused)")
    row(page, "blocked", "slow").get_by_role("button", name="Pause key slow").click()
    paused = page.locator("#paused tbody tr").filter(has_text=orders)
    expect(paused).to_have_count(2)
    assert [key.singleton_key for key in client.list_paused_keys(orders)] == ["broken", "slow"]
    paused.filter(has_text="slow").get_by_role("button", name="Resume key slow").click()
    expect(paused).to_have_count(1)
    show_job(page, job.id).get_by_role("button", name="Resume key broken").click()
    expect(said(page)).to_contain_text("Key broken is resumed")
    assert client.list_paused_keys(orders) == []


def test_a_schedule_is_run_now(page: Page, client: Client, queue: str) -> None:
    name = f"nightly <img src=x> / {queue}"
    client.create_schedule(name, queue, "0 3 * * *", time_zone="Europe/Berlin")
    line = row(page, "schedules", queue)
    expect(line).to_contain_text(name)
    expect(line).to_contain_text("0 3 * * * Europe/Berlin")
    line.get_by_role("button", name="Run now").click()
    expect(said(page)).to_have_text(re.compile(r"Schedule .* enqueued job \d+\."))
    [schedule] = [s for s in client.list_schedules() if s.name == name]
    expect(line.get_by_role("link", name=f"Show job {schedule.last_job_id}")).to_be_visible()
    line.get_by_role("button", name="Pause schedule").click()
    expect(line).to_contain_text("paused")
    line.get_by_role("button", name="Resume schedule").click()
    expect(line.get_by_role("button", name="Pause schedule")).to_be_visible()
    assert page.locator("main img").count() == 0


def test_the_audit_is_read_page_by_page(page: Page, client: Client, queue: str) -> None:
    for _ in range(35):
        client.pause_queue(queue)
        client.resume_queue(queue)
    section = go(page, "audit")
    section.get_by_label("Done to").select_option(queue)
    rows = section.locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("resume_queue")
    section.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(70)
    expect(section.get_by_role("button", name="Older")).to_be_disabled()


# Who may do what -------------------------------------------------------------------------------


def signed_in(browser: Browser, served: Served, token: str) -> Iterator[Page]:
    for page in opened(browser, served):
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        yield page


def test_who_may_only_look_is_offered_nothing_else(
    browser: Browser, guarded: Served, client: Client, queue: str
) -> None:
    job_id = client.enqueue_job(queue)
    for page in signed_in(browser, guarded, "eye"):
        line = row(page, "queues", queue)
        expect(line).to_be_visible()
        expect(line.get_by_role("button")).to_have_count(0)
        links = page.get_by_role("navigation").get_by_role("link")
        expect(links).to_have_text(["Home", "Jobs", "Workers", "Latency"])
        detail = show_job(page, job_id)
        expect(detail.get_by_role("heading", name="Payload")).to_be_visible()
        expect(detail.get_by_role("button")).to_have_count(0)
        expect(search(page, **{"In queue": queue})).to_be_hidden()


def test_who_is_narrowed_is_offered_what_concerns_its_queues(
    browser: Browser, guarded: Served, client: Client, queue: str, roles: dict[str, str]
) -> None:
    other = f"{queue}-other"
    client.create_queue(other)
    mine, theirs = client.enqueue_job(queue), client.enqueue_job(other)
    for name, action in ((queue, "operate"), (queue, "monitor"), (other, "monitor")):
        client.grant_queue(roles["narrow"], name, action)
    client.create_schedule(f"of {queue}", queue, "0 3 * * *")
    for page in signed_in(browser, guarded, "narrow"):
        expect(row(page, "queues", other)).to_be_visible()
        expect(row(page, "queues", other).get_by_role("button")).to_have_count(0)
        own = page.get_by_role("button", name=f"Pause queue {queue}", exact=True)
        expect(own).to_be_visible()
        expect(show_job(page, mine).get_by_role("button").first).to_have_text("Reschedule")
        expect(show_job(page, theirs)).to_contain_text("Payload")
        expect(page.locator("#job-detail").get_by_role("button")).to_have_count(0)
        line = row(page, "schedules", f"of {queue}")
        expect(line).to_be_visible()
        expect(line.get_by_role("button")).to_have_count(0)  # it takes a role that is not narrowed
    for name, action in ((queue, "operate"), (queue, "monitor"), (other, "monitor")):
        client.revoke_queue(roles["narrow"], name, action)
    client.drop_queue(other, force=True)


def test_what_is_not_offered_is_refused(guarded: Served, client: Client, queue: str) -> None:
    job_id = client.enqueue_job(queue)
    eye = guarded.of("eye")
    for path, body in (
        (f"/ui/queues/{queue}/pause", {}),
        (f"/ui/queues/{queue}/keys/pause", {"key": "k"}),
        (f"/ui/queues/{queue}/jobs/{job_id}/cancel", {}),
        ("/ui/act", {"action": "cancel", "search": f"queue={queue}"}),
        ("/ui/schedules/x/run", {}),
    ):
        assert eye.status("POST", path, json=body) == 403
    for path in ("/ui/blocked", "/ui/paused", "/ui/schedules", "/ui/audit", "/ui/dead"):
        assert eye.status("GET", path) == 403
    assert client.get_job(job_id).state == JobState.PENDING


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("jobs/{id}/fly", {}, 404),
        ("jobs/{id}/priority", {"priority": "high"}, 400),
        ("jobs/{id}/priority", {}, 400),
        ("jobs/{id}/reschedule", {"run_at": "tomorrow"}, 400),
        ("jobs/{id}/reschedule", {"run_at": "2040-01-01T00:00:00"}, 400),
        ("jobs/{id}/retry", {}, 409),
        ("jobs/999999999/erase", {}, 404),
        ("jobs/999999999/cancel", {}, 409),
        ("keys/fly", {"key": "k"}, 404),
        ("keys/pause", {"key": "k"}, 409),
        ("fly", {}, 404),
        ("pause", {"more": 1}, 400),
    ],
)
def test_what_makes_no_sense_is_refused(
    gateway: Served, client: Client, queue: str, path: str, body: dict[str, Any], status: int
) -> None:
    job_id = client.enqueue_job(queue)
    where = f"/ui/queues/{queue}/{path.format(id=job_id)}"
    assert gateway.status("POST", where, json=body) == status
    assert client.get_job(job_id).state == JobState.PENDING


def test_filters_and_schedules_that_make_no_sense_are_refused(gateway: Served) -> None:
    for wrong in ("created_after=soon", "ended_before=2030-01-01T00:00:00", "payload={"):
        assert gateway.status("GET", f"/ui/jobs?{wrong}") == 400
        assert gateway.status("POST", "/ui/act", json={"action": "skip", "search": wrong}) == 400
    assert gateway.status("POST", "/ui/act", json={"action": "skip", "search": ""}) == 400
    assert gateway.status("POST", "/ui/act", json={"action": "fly", "search": "queue=x"}) == 400
    for move in (
        {"action": "prioritize"},
        {"action": "prioritize", "priority": "high"},
        {"action": "reschedule", "run_at": "soon"},
    ):
        assert gateway.status("POST", "/ui/act", json=move | {"search": "state=pending"}) == 400
    assert gateway.status("POST", "/ui/schedules/nope/run", json={}) == 400
    assert gateway.status("POST", "/ui/schedules/nope/fly", json={}) == 404
    assert gateway.status("GET", "/ui/audit?before=x") == 404


# Time ------------------------------------------------------------------------------------------


def test_charts_begin_before_the_page_was_opened(
    browser: Browser, gateway: Served, client: Client, queue: str
) -> None:
    """From what the gateway saw while somebody else looked."""
    for first in opened(browser, gateway):
        expect(row(first, "queues", queue)).to_be_attached()
        client.enqueue_job(queue)
        seen = row(first, "queues", queue).locator("path.age")
        expect(seen).to_have_attribute("d", re.compile("^M.*L"))

    def ages() -> dict[str, list[list[float]]]:
        with gateway.listen("/ui/live") as stream:
            past = next(stream)
            assert past.name == "past"
            return past.data["ages"]

    # It is left out while its age stays the same.
    wait_until(lambda: queue in ages(), "the queue has a past")
    points = ages()[queue]
    assert len(points) >= 2
    assert all(before[0] < after[0] for before, after in pairwise(points))
    assert points[0][1] == 0 < points[-1][1]
    for second in opened(browser, gateway):
        chart = row(second, "queues", queue).locator("path.age")
        expect(chart).to_have_attribute("d", re.compile("^M.*L"))


def test_the_past_is_an_hour_and_has_a_point_every_few_seconds() -> None:
    series: _watch.Series = {}
    for second in range(0, 8000, 2):
        _watch.remember(series, "q", (second, second))
        _watch.remember(series, "q", (second - 1, 0))  # older ones come late and are left out
        _watch.remember(series, "idle", (second, 0))
    points = series["q"]
    assert points[-1] == (7998, 7998)
    assert 7998 - 3600 <= points[0][0] <= 7998 - 3600 + 12
    assert len(points) <= 3600 / 8 + 2
    assert list(_watch.moving(series)) == ["q"]


def test_the_past_goes_on_when_the_clock_is_set_back() -> None:
    series: _watch.Series = {}
    for second in (*range(0, 600, 10), *range(300, 400, 10)):
        _watch.remember(series, "q", (second, second))
    assert [second for second, _ in series["q"]][-12:] == [
        *range(240, 300, 10),
        *range(300, 400, 10),
    ][-12:]
    assert series["q"][-1] == (390, 390)


def test_the_limits_of_a_queue_are_shown(page: Page, client: Client, queue: str) -> None:
    client.set_queue_limits(queue, max_running=2, rate_count=3, rate_interval="1 hour")
    ids = client.enqueue_batch(queue, range(5))
    line = row(page, "queues", queue)
    expect(line).to_contain_text("standard · 0 of 2 run · 3 in 1 h")
    jobs = client.claim_job_batch("w", [queue])
    assert len(jobs) == 2
    expect(line).to_contain_text("2 of 2 run")
    expect(show_job(page, ids[4]).locator(".why")).to_contain_text(
        "it starts when one of them ends"
    )
    client.complete_job(jobs[0].id, lease_token=jobs[0].lease_token)
    client.claim_job_batch("w", [queue])
    line = row(page, "queues", queue)
    expect(line).to_contain_text(re.compile("2 of 2 run · 3 in 1 h, the next in 59 min"))
    expect(show_job(page, ids[4]).locator(".why")).to_contain_text("lets none start before")
    client.set_queue_limits(queue)
    line = row(page, "queues", queue)
    expect(line).not_to_contain_text("run ·")


def test_the_rate_of_each_key_is_shown(page: Page, client: Client, queue: str) -> None:
    client.drop_queue(queue)
    client.create_fifo_queue(queue)
    client.set_queue_limits(queue, key_rate_count=1, key_rate_interval="1 hour")
    _, second = client.enqueue_batch(queue, range(2), ["ann", "ann"])
    [job] = client.claim_job_batch("w", [queue])
    client.complete_job(job.id, lease_token=job.lease_token)
    expect(row(page, "queues", queue)).to_contain_text("fifo · 1 of a key in 1 h")
    assert client.claim_job_batch("w", [queue]) == []
    expect(show_job(page, second).locator(".why")).to_contain_text('of its key "ann"')


def test_latencies_are_histograms(page: Page, client: Client, queue: str) -> None:
    client.enqueue_batch(queue, range(40))
    jobs = client.claim_job_batch("w", [queue], batch_size=40)
    client.complete_jobs([job.id for job in jobs], jobs[0].lease_token)
    line = row(page, "latency", queue)
    expect(line).to_contain_text("40 jobs", timeout=30_000)
    for cell in line.locator("td").all():
        expect(cell.get_by_role("img")).to_have_attribute("aria-label", re.compile("jobs? up to "))
        expect(cell).to_contain_text(re.compile("half within .*, 95 % within .*, 99 % within"))
