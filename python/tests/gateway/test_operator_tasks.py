"""docs/operator-tasks.md: tasks take the steps that it says, and the command line has its words."""

from __future__ import annotations

import re
import shlex
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
import typer.main
from browser import go, opened
from playwright.sync_api import Browser, Page, expect
from serving import Served, database, serving

from pgbaton import Client, JobState, _assemble
from pgbaton.cli._app import app

PAGE = (_assemble.source_root() / "docs" / "operator-tasks.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| [^|]+ \| [^|]+ \| (\d+) \| `([^`]+)` \|$", PAGE, re.M)
STEPS = {int(number): int(steps) for number, steps, _ in ROWS}
# A click, a field that is filled in or chosen from, counted once.
COUNTER = """
    window.steps = 0;
    let fields = new Set();
    addEventListener("click", () => { window.steps += 1; }, true);
    addEventListener("input", (event) => {
        if (!fields.has(event.target)) window.steps += 1;
        fields.add(event.target);
    }, true);
"""


@dataclass
class Scene:
    """A queue in trouble, a page that counts, and what a task is about."""

    page: Page
    client: Client
    queue: str
    failed: int
    later: int
    behind: int

    def nav(self, name: str) -> None:
        links = self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True)
        links.click()

    def click(self, name: str, within: str = "main") -> None:
        self.page.locator(within).get_by_role("button", name=name).first.click()

    def yes(self, name: str) -> None:
        self.page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()

    def says(self, text: str) -> None:
        expect(self.page.locator("#said")).to_contain_text(text)

    def find(self, **fields: str) -> None:
        """By what is filled in; the page looks when the last field is."""
        self.nav("Jobs")
        for label, text in fields.items():
            self.page.locator("#search").get_by_label(label).fill(text)
        expect(self.page.locator("#jobs .nothing")).not_to_be_empty()

    def show(self, job_id: int) -> None:
        self.page.get_by_label("Job id").fill(str(job_id))
        expect(self.page.locator("#job-detail")).to_contain_text("Payload")


def see_what_is_wrong(scene: Scene) -> None:
    expect(scene.page.get_by_role("list", name="Warnings")).to_contain_text("1 key blocked")


def find_order_17(scene: Scene) -> None:
    yesterday = datetime.now() - timedelta(days=1)
    scene.find(
        **{
            "Payload contains": '{"order": 17}',
            "Enqueued after": yesterday.isoformat(timespec="seconds"),
        }
    )
    expect(scene.page.locator("#jobs tbody tr")).to_have_count(1)


def see_attempts(scene: Scene) -> None:
    scene.show(scene.failed)
    expect(scene.page.locator("pre.stack")).to_be_visible()
    expect(scene.page.locator("pre.stack")).to_contain_text("line 7")


def learn_why(scene: Scene) -> None:
    scene.show(scene.behind)
    expect(scene.page.locator(".why")).to_contain_text(str(scene.failed))


def retry_one(scene: Scene) -> None:
    scene.nav("Dead letters")
    scene.click("Retry job", "#dead")
    scene.says("will run once more")


def retry_all(scene: Scene) -> None:
    scene.find(**{"Error contains": "timeout"})
    scene.click("Retry all", "#bulk")
    scene.yes("Retry all")
    scene.says("Retried 1 job.")


def skip_blocker(scene: Scene) -> None:
    scene.nav("Blocked keys")
    scene.click("Skip", "#blocked")
    scene.yes("Skip")
    scene.says("was skipped")


def requeue(scene: Scene) -> None:
    scene.nav("Dead letters")
    scene.click("Requeue job", "#dead")
    scene.yes("Requeue")
    scene.says("is enqueued anew")


def see_blocked(scene: Scene) -> None:
    scene.nav("Blocked keys")
    expect(scene.page.locator("#blocked-table tbody tr")).to_contain_text("timeout")


def pause_customer(scene: Scene) -> None:
    scene.find(Key="customer 1")
    scene.page.locator("#jobs tbody").get_by_role("link").first.click()
    scene.click("Pause key", "#job-detail")
    scene.says("is paused")


def resume_customer(scene: Scene) -> None:
    scene.nav("Blocked keys")
    scene.click("Resume key", "#paused")
    scene.says("is resumed")


def pause_queue(scene: Scene) -> None:
    scene.click(f"Pause queue {scene.queue}", "#queues")
    scene.says("is paused")


def run_now(scene: Scene) -> None:
    scene.show(scene.later)
    scene.click("Run now", "#job-detail")
    scene.says("runs at once")


def put_off(scene: Scene) -> None:
    scene.show(scene.later)
    scene.click("Reschedule", "#job-detail")
    scene.page.get_by_role("dialog").get_by_label("Not before").fill("2040-01-01T09:00:00")
    scene.yes("Reschedule")
    scene.says("runs from 2040-01-01")


def go_first(scene: Scene) -> None:
    scene.show(scene.later)
    scene.click("Priority", "#job-detail")
    scene.page.get_by_role("dialog").get_by_label("A whole number").fill("900")
    scene.yes("Priority")
    scene.says("has priority 900")


def cancel_all(scene: Scene) -> None:
    scene.find(Tag="eu")
    scene.click("Cancel all", "#bulk")
    scene.yes("Cancel all")
    scene.says("Cancelled 1 job.")


def delete_one(scene: Scene) -> None:
    scene.show(scene.later)
    scene.click("Delete", "#job-detail")
    scene.yes("Delete")
    scene.says("was deleted")


def run_schedule(scene: Scene) -> None:
    scene.nav("Schedules")
    scene.click("Run now", "#schedules")
    scene.says("enqueued job")


def see_audit(scene: Scene) -> None:
    scene.nav("Audit")
    scene.page.get_by_label("Done to").select_option(scene.queue)
    expect(scene.page.locator("#audit tbody tr").first).to_contain_text(scene.queue)


def see_workers(scene: Scene) -> None:
    scene.nav("Workers")
    expect(scene.page.locator("#workers tbody tr").first).to_contain_text("worker 1")


TASKS: dict[int, Callable[[Scene], None]] = dict(
    enumerate(
        [
            see_what_is_wrong,
            find_order_17,
            see_attempts,
            learn_why,
            retry_one,
            retry_all,
            skip_blocker,
            requeue,
            see_blocked,
            pause_customer,
            resume_customer,
            pause_queue,
            run_now,
            put_off,
            go_first,
            cancel_all,
            delete_one,
            run_schedule,
            see_audit,
            see_workers,
        ],
        1,
    )
)


@pytest.fixture(scope="module")
def desk(server_dsn: str, template: str) -> Iterator[tuple[Served, Client]]:
    with (
        database(server_dsn, template, "tasks") as dsn,
        Client(dsn) as client,
        serving(dsn, "--cleanup-interval", "0", "--refresh", "0.3") as served,
    ):
        yield served, client


@pytest.fixture
def scene(browser: Browser, desk: tuple[Served, Client]) -> Iterator[Scene]:
    served, client = desk
    queue = f"orders-{uuid.uuid4().hex[:8]}"
    client.create_fifo_queue(queue, max_attempts=1)
    failed, behind = client.enqueue_batch(
        queue, [{"order": 17}, {"order": 18}], singleton_keys=["customer 1"] * 2
    )
    later = client.enqueue_job(queue, singleton_key="customer 2", delay="1 hour", tags=["eu"])
    [job] = client.claim_job_batch("worker 1", [queue])
    client.fail_job(job.id, "timeout", job.lease_token, error_stack="line 7 in charge")
    client.worker_heartbeat("worker 1")
    client.pause_key(queue, "customer 3")
    client.create_schedule(f"of {queue}", queue, "0 3 * * *", singleton_key="nightly")
    for page in opened(browser, served):
        expect(page.locator("#queues tbody tr").filter(has_text=queue)).to_be_visible()
        page.evaluate(COUNTER)
        yield Scene(page, client, queue, failed, later, behind)
    client.drop_queue(queue, force=True)


def test_there_are_twenty() -> None:
    assert list(STEPS) == list(TASKS) == list(range(1, 21))


@pytest.mark.parametrize("number", TASKS)
def test_a_task_takes_as_many_steps_as_the_page_says(scene: Scene, number: int) -> None:
    TASKS[number](scene)
    assert scene.page.evaluate("window.steps") == STEPS[number]
    assert scene.client.get_job(scene.behind).state in JobState
    go(scene.page, "audit")


@pytest.mark.parametrize(("number", "words"), [(number, words) for number, _, words in ROWS])
def test_the_command_line_has_these_words(number: str, words: str) -> None:
    if words.startswith("select"):
        assert number == "19"
        return
    program, *rest = shlex.split(words.replace("ID", "17"))
    assert program == "pgbaton"
    command = typer.main.get_command(app)
    context = typer.Context(command)
    while isinstance(command, typer.core.TyperGroup):
        _, command, rest = command.resolve_command(context, rest)
    assert command is not None
    command.make_context("pgbaton", rest)  # raises unless it takes these arguments
