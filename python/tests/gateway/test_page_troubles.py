"""The page when something comes between: late answers, a clock that is wrong, a lost connection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from browser import Held, go, opened, row, show_job
from playwright.sync_api import Browser, Page, expect
from serving import Served

from pgbaton import Client

ACT = "**/ui/act"


def fail(client: Client, queue: str, count: int, error: str = "timeout") -> list[int]:
    """Dead letters."""
    made = client.enqueue_batch(queue, list(range(count)))
    while jobs := client.claim_job_batch("failing", [queue], batch_size=1000):
        client.fail_jobs([j.id for j in jobs], [error] * len(jobs), jobs[0].lease_token, False)
    return made


# Answers that come late ------------------------------------------------------------------------


def test_what_was_typed_last_is_shown(page: Page, orders: str) -> None:
    section = go(page, "blocked")
    section.get_by_label("Blocked in").select_option(orders)
    expect(section.locator("#blocked-table tbody tr")).to_have_count(2)
    held = Held(page, re.compile(r"/ui/blocked\?.*key=bro"))
    section.get_by_label("Key contains").fill("bro")
    held.is_there()
    section.get_by_label("Key contains").fill("slow")
    rows = section.locator("#blocked-table tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("slow")
    held.let_go()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("slow")


def test_a_job_is_whole_before_the_first_picture(page: Page, client: Client, orders: str) -> None:
    """The list of queues comes with the picture, which may come late."""
    held = Held(page, re.compile("/ui/live"))
    page.reload()
    held.is_there()
    [job] = client.list_dead_jobs(orders)
    detail = show_job(page, job.id)
    expect(detail.get_by_role("button", name="Pause key broken")).to_be_visible()


def test_the_queue_that_was_chosen_last_is_shown(
    page: Page, client: Client, queue: str, orders: str
) -> None:
    fail(client, queue, 1)
    for section, label, said in (
        (go(page, "dead"), "Queue", "printer on fire"),
        (go(page, "audit"), "Done to", None),
    ):
        go(page, str(section.get_attribute("id")))
        held = Held(page, re.compile(rf"/ui/(dead|audit)\?.*queue={queue}"))
        section.get_by_label(label, exact=True).select_option(queue)
        held.is_there()
        section.get_by_label(label, exact=True).select_option(orders)
        if said:
            expect(section.locator("tbody")).to_contain_text(said)
        else:
            expect(section.locator(".nothing")).to_have_text("Nothing was done.")
        held.let_go()
        expect(section.locator("tbody")).not_to_contain_text(queue)
        page.unroute_all()


def test_all_that_match_are_those_that_are_shown(page: Page, client: Client, queue: str) -> None:
    """However late the answer to an earlier search comes, and whatever the form says since."""
    fail(client, queue, 60, "timeout")
    fail(client, queue, 2, "refused")
    section = go(page, "jobs")
    section.get_by_label("In queue").fill(queue)
    held = Held(page, re.compile("error=timeout"))
    section.get_by_label("Error contains").fill("timeout")
    section.get_by_role("button", name="Search").click()
    held.is_there()
    section.get_by_label("Error contains").fill("refused")
    section.get_by_role("button", name="Search").click()
    expect(section.locator("tbody tr")).to_have_count(2)
    held.let_go()
    expect(section.locator("tbody tr")).to_have_count(2)
    assert "error=refused" in page.url

    section.get_by_label("Error contains").fill("timeout")
    section.get_by_role("button", name="Search").click()
    expect(section.locator("tbody tr")).to_have_count(50)
    section.get_by_label("Payload contains").fill('{"half')  # nothing to look for yet
    section.get_by_role("button", name="Go on").click()
    expect(section.locator("tbody tr")).to_have_count(10)
    section.get_by_role("button", name="Skip all").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Skip 60 jobs?")
    dialog.get_by_role("button", name="Skip all").click()
    expect(page.locator("#said")).to_have_text("Skipped 60 jobs.")
    expect(section.locator(".nothing")).to_contain_text("here")
    assert "half" not in page.url


def test_all_are_offered_once_they_are_shown(page: Page, client: Client, queue: str) -> None:
    """Who narrows a list and clicks at once means the narrower one."""
    fail(client, queue, 2)
    section = go(page, "dead")
    skip = section.get_by_role("button", name="Skip all")
    expect(skip).to_have_accessible_name("Skip all dead letters")
    held = Held(page, re.compile(rf"/ui/dead\?.*queue={queue}"))
    section.get_by_label("Queue", exact=True).select_option(queue)
    held.is_there()
    expect(skip).to_be_hidden()
    held.let_go()
    expect(skip).to_have_accessible_name(f"Skip all dead letters of {queue}")
    skip.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"These are all dead letters of {queue}.")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.unroute_all()

    section = go(page, "jobs")
    skip = section.get_by_role("button", name="Skip all")
    section.get_by_label("In queue").fill(queue)
    section.get_by_role("button", name="Search").click()
    expect(skip).to_be_visible()
    held = Held(page, re.compile(r"/ui/jobs\?.*error=timeout"))
    section.get_by_label("Error contains").fill("timeout")
    section.get_by_role("button", name="Search").click()
    held.is_there()
    expect(skip).to_be_hidden()
    held.let_go()
    expect(skip).to_be_visible()


# What goes on -----------------------------------------------------------------------------------


@pytest.fixture
def under_way(page: Page, client: Client, queue: str) -> tuple[Page, Held]:
    """Dead letters are being skipped: a step was done, and the next one is asked for."""
    fail(client, queue, 1200)
    section = go(page, "dead")
    section.get_by_label("Queue", exact=True).select_option(queue)
    section.get_by_role("button", name=f"Skip all dead letters of {queue}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    held = Held(page, ACT, after=1)
    dialog.get_by_role("button", name="Skip all").click()
    expect(page.locator("#work")).to_contain_text("Skipped: 500 of 1,200")
    held.is_there()
    return page, held


def test_stop_stops_although_somebody_searches(
    under_way: tuple[Page, Held], client: Client, queue: str
) -> None:
    page, held = under_way
    page.get_by_role("button", name="Stop", exact=True).click()
    section = go(page, "jobs")
    section.get_by_label("In queue").fill(queue)
    section.get_by_role("button", name="Search").click()
    expect(section.locator("tbody tr")).to_have_count(50)
    expect(page.locator("#work")).to_be_visible()
    held.let_go()
    expect(page.locator("#said")).to_contain_text("Stopped. Skipped 1,000 jobs.")
    expect(page.locator("#work")).to_be_hidden()
    assert client.queue_stats(queue)[0].dlq == 200


def test_what_was_done_before_the_connection_was_lost(
    under_way: tuple[Page, Held], client: Client, queue: str
) -> None:
    page, held = under_way
    held.is_there().fulfill(status=502, body="<h1>Bad Gateway</h1>")
    expect(page.locator("#said")).to_have_text(
        "the gateway answered 502, and no JSON. Skipped 500 jobs. The step that was under way may"
        " have been done, too. The others are as they were."
    )
    assert client.queue_stats(queue)[0].dlq == 700


def test_a_queue_that_is_gone_meanwhile(
    under_way: tuple[Page, Held], client: Client, queue: str
) -> None:
    """Somebody drops it while its dead letters are skipped and its list is open."""
    page, held = under_way
    client.drop_queue(queue, force=True)
    held.let_go()
    expect(page.locator("#said")).to_contain_text(f'queue "{queue}" does not exist')
    expect(page.locator("#said")).to_contain_text("Skipped 500 jobs. The others are as they were.")
    expect(page.locator("#dead .nothing")).to_contain_text("does not exist")
    client.create_queue(queue)  # the fixture drops it


# Lists ------------------------------------------------------------------------------------------


def test_the_last_page_of_dead_letters_may_become_empty(
    page: Page, client: Client, queue: str
) -> None:
    fail(client, queue, 21)
    section = go(page, "dead")
    section.get_by_label("Queue", exact=True).select_option(queue)
    section.get_by_role("button", name="Older").click()
    expect(section.locator("tbody tr")).to_have_count(1)
    section.get_by_role("button", name=re.compile("^Skip job")).click()
    page.get_by_role("dialog").get_by_role("button", name="Skip", exact=True).click()
    expect(section.locator("tbody tr")).to_have_count(20)
    expect(section.locator(".nothing")).to_have_text("")


def test_lists_that_are_cut_say_so(page: Page, client: Client, queue: str) -> None:
    [parent] = fail(client, queue, 1)
    for _ in range(101):
        client.enqueue_job(queue, after=[parent])
    client.run_maintenance()
    section = go(page, "blocked")
    section.get_by_label("Blocked in").select_option(queue)
    waiting = page.locator("#blocked-jobs")
    expect(waiting.locator("tbody tr")).to_have_count(100)
    expect(waiting.locator(".count")).to_have_text("100+")
    expect(waiting.locator(".nothing")).to_contain_text("there may be more")
    page.goto(f"{page.url.split('#')[0]}#job/{parent}")
    expect(page.locator("#job-detail .others li")).to_have_count(100)
    expect(page.locator("#job-detail")).to_contain_text("there may be more")


def test_a_blocked_key_that_is_paused_says_so(page: Page, client: Client, orders: str) -> None:
    client.pause_key(orders, "broken")
    line = row(page, "blocked", orders).filter(has_text="broken").filter(has_text="failed for good")
    expect(line).to_contain_text("paused")
    line.get_by_role("button", name="Resume key").click()
    expect(line).not_to_contain_text("paused")
    expect(line.get_by_role("button", name="Pause key")).to_be_visible()
    assert client.list_paused_keys(orders) == []


# Time -------------------------------------------------------------------------------------------

SHIFTED = """
const Right = Date;
window.Date = class extends Right {
  constructor(...given) { given.length ? super(...given) : super(Right.now() + %(by)d); }
  static now() { return Right.now() + %(by)d; }
};
"""


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_computer_whose_clock_is_wrong(
    page: Page, client: Client, queue: str, orders: str, hours: int
) -> None:
    page.context.add_init_script(SHIFTED % {"by": hours * 3_600_000})
    page.reload()
    since = row(page, "blocked", orders).filter(has_text="broken").locator(".since")
    expect(since).to_have_text(re.compile(r"^\d[\d.]* m?s$"))
    go(page, "queues")
    chart = row(page, "queues", queue).locator("path.age")
    client.enqueue_job(queue)
    expect(chart).to_have_attribute("d", re.compile("^M.*L"))


@pytest.fixture
def in_berlin(browser: Browser, gateway: Served) -> Iterator[Page]:
    yield from opened(browser, gateway, timezone_id="Europe/Berlin")


@pytest.mark.parametrize(
    "instant", ["2026-10-25T01:30:00.000Z", "2026-10-25T00:30:00.123456+00:00"]
)
def test_an_address_stays_the_same_filter(
    in_berlin: Page, gateway: Served, queue: str, instant: str
) -> None:
    """An hour comes twice there, and a field has whole seconds."""
    page = in_berlin
    address = f"{gateway.url}/?queue={queue}&created_after={instant.replace('+', '%2B')}#jobs"
    with page.expect_response(re.compile(r"/ui/jobs\?")) as asked:
        page.goto(address)
    first = asked.value.url
    expect(page.get_by_label("Enqueued after")).to_have_value(re.compile("2026-10-25T02:30"))
    with page.expect_response(re.compile(r"/ui/jobs\?")) as asked:
        page.locator("#jobs").get_by_role("button", name="Search").click()
    assert asked.value.url == first
    page.get_by_label("Enqueued after").fill("2026-03-29T02:30")  # does not come at all
    with page.expect_response(re.compile(r"/ui/jobs\?.*2026-03-29T01%3A30")):
        page.locator("#jobs").get_by_role("button", name="Search").click()


@pytest.mark.parametrize("what", ["state=done", "created_after=yesterday", "payload=order 17"])
def test_a_condition_that_makes_no_sense_is_not_left_out(
    page: Page, gateway: Served, queue: str, what: str
) -> None:
    """Else all of the queue would match."""
    page.goto(f"{gateway.url}/?queue={queue}&{what}#jobs")
    expect(page.locator("#jobs .nothing.bad")).not_to_be_empty()


# Home -------------------------------------------------------------------------------------------


def test_health_that_cannot_be_asked_is_not_good_health(page: Page) -> None:
    picture = {name: {"rows": []} for name in ("limits", "queues", "totals", "workers")}
    picture["health"] = {"error": "canceling statement due to statement timeout"}  # type: ignore[dict-item]
    said = f"event: picture\ndata: {json.dumps(picture)}\n\n"
    page.route(
        "**/ui/live", lambda route: route.fulfill(body=said, content_type="text/event-stream")
    )
    page.reload()
    expect(page.locator("#health")).to_contain_text("It cannot be asked: canceling statement")
    expect(page.locator("#fine")).to_be_empty()


def test_who_may_look_at_no_queue_is_not_told_that_all_is_well(
    browser: Browser, guarded: Served, client: Client, queue: str, roles: dict[str, str]
) -> None:
    """Who may only operate on a queue does not monitor it."""
    fail(client, queue, 1)
    client.grant_queue(roles["narrow"], queue, "operate")
    for page in opened(browser, guarded):
        page.get_by_label("Token").fill("narrow")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#health")).to_contain_text("may not monitor on any queue")
        expect(page.locator("#fine")).to_be_empty()
        expect(page.locator("#queues .nothing")).to_have_text(
            "There is no queue that you may look at."
        )
        expect(row(page, "dead", "timeout")).to_be_visible()
    client.revoke_queue(roles["narrow"], queue, "operate")


def test_an_address_that_is_no_address(page: Page) -> None:
    page.goto(f"{page.url.split('#')[0]}#job/%zz")
    expect(page.locator("#job-detail")).to_contain_text("there is no message")
