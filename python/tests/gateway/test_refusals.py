"""Each action of the page that is refused says why: what it is about changed meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from browser import Held, go, opened, row, show_job
from playwright.sync_api import Browser, Locator, Page, expect
from serving import Served

from pgbaton import Client


@dataclass(frozen=True)
class Place:
    """A page before a queue."""

    page: Page
    client: Client
    queue: str

    def answer(self, word: str, **fields: str) -> None:
        dialog = self.page.get_by_role("dialog")
        for label, text in fields.items():
            dialog.get_by_label(label).fill(text)
        dialog.get_by_role("button", name=word, exact=True).click()

    def button(self, job_id: int, word: str) -> Locator:
        show_job(self.page, job_id)
        return self.page.locator("#job-detail").get_by_role("button", name=word).first

    def ask(self, button: Locator) -> None:
        """A button that asks first, sometimes the gateway: its question is open."""
        button.click()
        expect(self.page.get_by_role("dialog")).to_be_visible()

    def press(self, button: Locator, meanwhile: Callable[[], object]) -> None:
        """A button that asks nothing: something comes between click and call."""
        held = Held(self.page, re.compile("/ui/(queues|schedules)/"))
        button.click()
        held.is_there()
        meanwhile()
        held.let_go()
        self.page.unroute_all()

    def claim(self) -> list[int]:
        jobs = self.client.claim_job_batch("w", [self.queue], batch_size=10)
        return [job.id for job in jobs]

    def dead(self) -> int:
        self.client.enqueue_job(self.queue)
        [job] = self.client.claim_job_batch("w", [self.queue])
        self.client.fail_job(job.id, "no", job.lease_token, retryable=False)
        return job.id


@pytest.fixture
def place(page: Page, client: Client, queue: str) -> Place:
    return Place(page, client, queue)


def refused(place: Place, words: str) -> None:
    said = place.page.locator("#said")
    expect(said).to_have_text(re.compile(words))
    expect(said).to_have_class("bad")
    expect(place.page.get_by_role("dialog")).to_be_hidden()


def test_of_a_retry(place: Place) -> None:
    job_id = place.dead()
    place.press(place.button(job_id, "Retry"), lambda: place.client.skip_job(place.queue, job_id))
    refused(place, f"job {job_id} .*(is not|was|has ended|failed|cannot)")


def test_of_a_job_that_is_to_run_now(place: Place) -> None:
    job_id = place.client.enqueue_job(place.queue, delay="1 hour")
    button = place.button(job_id, "Run now")
    place.press(button, lambda: place.client.cancel_jobs(job_ids=[job_id]))
    refused(place, f"job {job_id} ")


@pytest.mark.parametrize("word", ["Skip", "Requeue", "Delete"])
def test_of_a_dead_letter(place: Place, word: str) -> None:
    job_id = place.dead()
    place.ask(place.button(job_id, word))
    place.client.skip_job(place.queue, job_id)
    place.answer(word)
    refused(place, f"job {job_id} .*(is not|was|has ended|failed|cannot)")


@pytest.mark.parametrize("word", ["Reschedule", "Priority", "Cancel", "Delete"])
def test_of_a_job_that_waits(place: Place, word: str) -> None:
    job_id = place.client.enqueue_job(place.queue)
    place.ask(place.button(job_id, word))
    [job] = place.client.claim_job_batch("w", [place.queue])
    place.client.complete_job(job.id, lease_token=job.lease_token)
    place.answer(word, **({"A whole number": "7"} if word == "Priority" else {}))
    refused(place, f"job {job_id} ")


def test_of_a_job_that_waits_for_another(place: Place) -> None:
    parent = place.client.enqueue_job(place.queue)
    job_id = place.client.enqueue_job(place.queue, after=[parent])
    place.ask(place.button(job_id, "Stop waiting"))
    place.client.cancel_jobs(job_ids=[job_id])
    place.answer("Stop waiting")
    refused(place, f"job {job_id} ")


def test_of_a_job_that_is_gone(place: Place) -> None:
    job_id = place.dead()
    place.client.skip_job(place.queue, job_id)
    place.ask(place.button(job_id, "Erase"))
    place.client.delete_jobs(job_ids=[job_id])
    place.answer("Erase")
    refused(place, f"there is no job {job_id}")
    expect(place.page.locator("#job-detail .bad")).to_contain_text(f"job {job_id}")


@pytest.mark.parametrize("word", ["Pause", "Resume"])
def test_of_a_queue_that_is_gone(place: Place, word: str) -> None:
    if word == "Resume":
        place.client.pause_queue(place.queue)
    place.client.enqueue_job(place.queue)
    named = f"{word} queue {place.queue}"
    button = row(place.page, "queues", place.queue).get_by_role("button", name=named)
    place.press(button, lambda: place.client.drop_queue(place.queue, force=True))
    refused(place, f'queue "{place.queue}" does not exist')
    place.client.create_queue(place.queue)


def test_of_limits_of_a_queue_that_is_gone(place: Place) -> None:
    place.client.enqueue_job(place.queue)
    line = row(place.page, "queues", place.queue)
    place.ask(line.get_by_role("button", name="Limits of queue"))
    place.client.drop_queue(place.queue, force=True)
    dialog = place.page.get_by_role("dialog")
    place.answer("Set limits", **{"Run at once": "2"})
    expect(dialog).to_contain_text(f'Not set: queue "{place.queue}" does not exist')
    place.client.create_queue(place.queue)
    place.answer("Leave it")


@pytest.mark.parametrize("word", ["Pause key", "Resume key"])
def test_of_a_key(place: Place, word: str) -> None:
    place.client.drop_queue(place.queue)
    place.client.create_fifo_queue(place.queue)
    job_id = place.client.enqueue_job(place.queue, singleton_key="ann")
    expect(row(place.page, "queues", place.queue)).to_contain_text("fifo")
    if word == "Resume key":
        place.client.pause_key(place.queue, "ann")
    button = place.button(job_id, word)
    place.press(button, lambda: place.client.drop_queue(place.queue, force=True))
    refused(place, f'queue "{place.queue}" does not exist')
    place.client.create_queue(place.queue)


@pytest.mark.parametrize("word", ["Run now", "Pause", "Resume"])
def test_of_a_schedule_that_is_gone(place: Place, word: str) -> None:
    name = f"of {place.queue}"
    place.client.create_schedule(name, place.queue, "0 3 * * *")
    if word == "Resume":
        place.client.pause_schedule(name)
    line = row(place.page, "schedules", place.queue)
    place.press(line.get_by_role("button", name=word), lambda: place.client.drop_schedule(name))
    refused(place, f'schedule "{name}"')


def test_of_all_that_match(place: Place) -> None:
    place.client.enqueue_job(place.queue)
    page = place.page
    go(page, "jobs")
    page.get_by_label("In queue").fill(place.queue)
    page.get_by_label("State").select_option("pending")
    page.locator("#search").get_by_role("button", name="Search").click()
    place.ask(page.locator("#bulk").get_by_role("button", name="Cancel all"))
    place.client.drop_queue(place.queue, force=True)
    place.answer("Cancel all")
    refused(place, f'queue "{place.queue}" does not exist.*Cancelled 0 jobs')
    place.client.create_queue(place.queue)


@pytest.mark.parametrize(
    ("label", "text", "words"),
    [
        ("Payload contains", "{", "payload is no JSON"),
        ("In queue", "nowhere", 'queue "nowhere" does not exist'),
    ],
)
def test_a_filter_that_makes_no_sense(page: Page, label: str, text: str, words: str) -> None:
    go(page, "jobs")
    page.get_by_label(label).fill(text)
    page.locator("#search").get_by_role("button", name="Search").click()
    note = page.locator("#jobs .nothing")
    expect(note).to_contain_text(words)
    expect(note).to_have_class(re.compile("bad"))


@pytest.fixture
def narrowed(
    browser: Browser, guarded: Served, client: Client, queue: str, roles: dict[str, str]
) -> Iterator[tuple[Place, Callable[[], None]]]:
    """A page of somebody who may operate on the queue, and how that is taken away."""
    for action in ("operate", "monitor"):
        client.grant_queue(roles["narrow"], queue, action)
    client.enqueue_job(queue)
    for page in opened(browser, guarded):
        page.get_by_label("Token").fill("narrow")
        page.keyboard.press("Enter")
        yield (
            Place(page, client, queue),
            lambda: client.revoke_queue(roles["narrow"], queue, "operate"),
        )
    client.revoke_queue(roles["narrow"], queue, "monitor")


def test_what_may_not_be_done_any_more(narrowed: tuple[Place, Callable[[], None]]) -> None:
    place, revoke = narrowed
    [job] = place.client.find_jobs({"queue": place.queue}).job_ids
    place.ask(place.button(job, "Reschedule"))
    revoke()  # the page knows of it when it is opened anew
    place.answer("Reschedule")
    refused(place, f'may not operate on queue "{place.queue}"')
    place.ask(place.button(job, "Cancel"))
    place.answer("Cancel")
    refused(place, "not yours to cancel")


def test_a_gateway_that_is_not_there(place: Place) -> None:
    job_id = place.client.enqueue_job(place.queue)
    place.ask(place.button(job_id, "Cancel"))
    place.page.evaluate("""() => {
        const fetch = window.fetch;
        window.fetch = (path, ...more) => path.endsWith("/cancel")
            ? Promise.reject(new TypeError("Failed to fetch")) : fetch(path, ...more);
        window.fetchAgain = () => { window.fetch = fetch; };
    }""")
    place.answer("Cancel")
    refused(place, "the gateway cannot be reached")
    place.page.evaluate("window.fetchAgain()")
    place.ask(place.button(job_id, "Cancel"))
    place.page.route(
        "**/cancel", lambda route: route.fulfill(status=502, body="<html>Bad Gateway</html>")
    )
    place.answer("Cancel")
    refused(place, "the gateway answered 502")
