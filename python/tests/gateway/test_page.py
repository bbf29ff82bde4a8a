"""The page in a real Chromium."""

from __future__ import annotations

import re
import uuid

import psycopg
import pytest
from browser import VIEWS, Held, go, opened, row, show_job
from exact import PAYLOAD, exactly
from playwright.sync_api import Browser, Page, expect
from serving import Served, database, serving

from pgbaton import Client, JobState

HOSTILE = "<img src=x onerror=\"window.pwned='yes'\"><script>window.pwned='yes'</script>"
SHORT = "<img src=x onerror=window.pwned=1>"


def dead_id(client: Client, queue: str) -> int:
    [job] = client.list_dead_jobs(queue)
    return job.id


def test_numbers_follow_the_queue(page: Page, client: Client, queue: str) -> None:
    ready = row(page, "queues", queue).locator("td").nth(0)
    expect(ready).to_have_text("0")
    client.enqueue_batch(queue, range(1234))
    expect(ready).to_have_text("1,234")
    chart = row(page, "queues", queue).get_by_role("img", name=re.compile("next job is .* old"))
    expect(chart.locator("path.age")).to_have_attribute("d", re.compile("^M.*L"))
    expect(page.get_by_role("status").first).to_contain_text("live")


def test_rates_are_drawn(page: Page, client: Client, queue: str) -> None:
    figure = row(page, "queues", queue).locator("b.in")
    expect(figure).to_have_text(re.compile(r"^(\N{EN DASH}|0\.0/s)$"))  # not known yet, or none
    for _ in range(200):  # until it was counted while the page looked
        client.enqueue_batch(queue, range(50))
        page.wait_for_timeout(100)
        if re.fullmatch(r"[\d,]*[1-9][\d,.]*/s", figure.inner_text()):
            break
    else:
        raise AssertionError(figure.inner_text())
    chart = row(page, "queues", queue).get_by_role("img", name=re.compile("enqueued, .* completed"))
    expect(chart).to_be_visible()


def test_a_blocked_key_says_why_and_is_retried_by_keyboard(
    page: Page, client: Client, orders: str
) -> None:
    job_id = dead_id(client, orders)
    broken = row(page, "blocked", orders).filter(has_text="broken")
    expect(broken).to_contain_text("printer on fire")
    expect(broken).to_contain_text("failed for good, tried once")
    expect(broken.locator("td").nth(2)).to_have_text("1")  # behind it
    slow = row(page, "blocked", orders).filter(has_text="slow")
    expect(slow).to_contain_text("runs again in 59 min")
    expect(slow.get_by_role("button")).to_have_text(
        ["Run now", "Reschedule", "Cancel", "Pause key"]
    )

    broken.get_by_role("button", name=f"Retry job {job_id} of key broken").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_have_text(f"Job {job_id} will run once more.")
    expect(broken).to_have_count(0)
    assert client.get_job(job_id).state == JobState.RETRY


def test_a_question_is_answered_by_keyboard(page: Page, client: Client, orders: str) -> None:
    job_id = dead_id(client, orders)
    broken = row(page, "blocked", orders).filter(has_text="broken")
    button = broken.get_by_role("button", name=f"Skip job {job_id} of key broken")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Skip this job?")
    expect(dialog).to_contain_text(orders)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert client.get_job(job_id).resolution is None
    expect(button).to_be_focused()

    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_have_text(f"Job {job_id} was skipped.")
    expect(broken).to_have_count(0)
    assert client.get_job(job_id).resolution == "skipped"


def test_a_question_that_opens_as_another_closes_is_answered(
    page: Page, client: Client, orders: str
) -> None:
    job_id = dead_id(client, orders)
    button = row(page, "blocked", orders).get_by_role("button", name=f"Skip job {job_id}")
    button.click()
    dialog = page.get_by_role("dialog", name="Skip this job?")
    expect(dialog).to_be_visible()
    button.evaluate("button => { document.querySelector('#ask').close('no'); button.click(); }")
    dialog.get_by_role("button", name="Skip").click()
    expect(page.locator("#said")).to_have_text(f"Job {job_id} was skipped.")
    assert client.get_job(job_id).resolution == "skipped"


def test_a_double_click_is_one_wish(page: Page, client: Client, queue: str) -> None:
    """What asks nothing is done once, while it goes on and when it just was done."""
    client.create_schedule(f"of {queue}", queue, "0 3 * * *")
    button = row(page, "schedules", queue).get_by_role("button", name="Run now")
    button.dblclick()
    expect(page.locator("#said")).to_contain_text("enqueued job")
    held = Held(page, re.compile("/run$"))
    button.click()
    held.is_there()
    button.click()
    held.let_go()
    expect(row(page, "queues", queue).locator("td.number").first).to_have_text("2")
    assert client.live_stats(queue)[0].pending == 2


def test_an_id_is_shown_as_it_is_typed(page: Page, client: Client, queue: str) -> None:
    """After the last digit; the field keeps the focus, and one step back leaves the job."""
    first, second = client.enqueue_batch(queue, [1, 2])
    before = page.url
    field = page.get_by_label("Job id")
    expect(field).to_be_visible()  # once the page knows what the caller may
    field.press_sequentially(str(first))
    title = page.locator("#job-title")
    expect(title).to_have_text(f"Job {first}")
    expect(page.locator("#job-detail")).to_contain_text(queue)
    expect(field).to_be_focused()
    field.fill(str(second))
    expect(title).to_have_text(f"Job {second}")
    expect(field).to_be_focused()
    field.fill("17x")
    field.fill("")
    page.go_back()
    expect(page.locator("#queues")).to_be_visible()
    assert page.url.split("#")[0] == before.split("#")[0]
    field.fill(str(first))
    field.press("Enter")
    expect(title).to_have_text(f"Job {first}")
    expect(page.locator("#job")).to_be_focused()
    go(page, "queues")
    expect(field).to_have_value("")


def test_skipping_asks_for_a_reason(
    page: Page, client: Client, orders: str, gateway_dsn: str
) -> None:
    job_id = dead_id(client, orders)
    row(page, "blocked", orders).get_by_role("button", name=f"Skip job {job_id}").click()
    dialog = page.get_by_role("dialog", name="Skip this job?")
    dialog.get_by_label("Reason").fill("handled by hand")
    dialog.get_by_role("button", name="Skip").click()
    expect(page.locator("#said")).to_have_text(f"Job {job_id} was skipped.")
    assert client.get_job(job_id).resolution == "skipped"
    with psycopg.connect(gateway_dsn) as conn:
        found = conn.execute("select reason from pgbaton.audit where job_id = %s", [job_id])
        assert found.fetchall() == [("handled by hand",)]


def test_a_dead_letter_is_shown_and_requeued(page: Page, client: Client, orders: str) -> None:
    job_id = dead_id(client, orders)
    go(page, "dead").get_by_label("Queue", exact=True).select_option(orders)
    letter = row(page, "dead", str(job_id))
    expect(letter).to_contain_text("printer on fire")
    letter.get_by_text("Payload").click()
    expect(letter.locator("pre")).to_have_text('{\n  "step": 1\n}')
    letter.get_by_role("button", name=f"Requeue job {job_id}").click()
    page.get_by_role("dialog").get_by_role("button", name="Requeue").click()
    expect(page.locator("#said")).to_have_text(
        re.compile(rf"Job {job_id} is enqueued anew as job \d+\.")
    )
    expect(page.locator("#dead .nothing")).to_have_text("No job has failed for good.")


@pytest.mark.parametrize(
    ("word", "says", "state", "next_runs"),
    [("Retry", "will run once more", "retry", False), ("Skip", "was skipped", "failed", True)],
)
def test_a_dead_letter_is_repaired_in_place(
    page: Page, client: Client, orders: str, word: str, says: str, state: str, next_runs: bool
) -> None:
    """Beside the letter itself, without looking for its key: the order of the key is kept."""
    job_id = dead_id(client, orders)
    go(page, "dead").get_by_label("Queue", exact=True).select_option(orders)
    letter = row(page, "dead", str(job_id))
    expect(letter.get_by_role("button", name=re.compile("^(Retry|Skip|Requeue) job"))).to_have_text(
        ["Retry", "Skip", "Requeue"]
    )
    letter.get_by_role("button", name=f"{word} job {job_id}").click()
    if word == "Skip":
        page.get_by_role("dialog").get_by_role("button", name=word).click()
    expect(page.locator("#said")).to_have_text(f"Job {job_id} {says}.")
    expect(letter).to_have_count(0)
    assert client.get_job(job_id).state == state
    claimed = [job.id for job in client.claim_job_batch("page-worker", [orders])]
    assert (job_id not in claimed) == next_runs
    assert len(claimed) == 1


def test_a_requeue_warns_that_others_come_first(page: Page, client: Client, orders: str) -> None:
    job_id = dead_id(client, orders)
    row(page, "dead", str(job_id)).get_by_role("button", name=f"Requeue job {job_id}").click()
    dialog = page.get_by_role("dialog", name="Enqueue this job anew?")
    expect(dialog).to_contain_text("jobs that came later run before it")


def test_every_attempt_is_shown(page: Page, client: Client, queue: str) -> None:
    """Where the latest failed is open."""
    job_id = client.enqueue_job(queue, max_attempts=4)
    for n, stack in enumerate(["an earlier one", f"line 7 in charge {SHORT}", None], 1):
        [job] = client.claim_job_batch(f"attempter {n}", [queue])
        client.fail_job(job.id, f"no {n} {SHORT}", job.lease_token, retry_in="0", error_stack=stack)
    client.claim_job_batch("attempter 4", [queue])
    attempts = show_job(page, job_id).locator(".attempts li")
    expect(attempts).to_have_count(4)
    expect(attempts.nth(0)).to_contain_text(re.compile("^running, .*, by attempter 4$"))
    expect(attempts.nth(1)).to_contain_text(re.compile("^failed, .*, after .*, by attempter 3"))
    expect(attempts.nth(1)).to_contain_text(f"no 3 {SHORT}")
    expect(attempts.nth(1).locator("details")).to_have_count(0)
    assert attempts.nth(2).get_attribute("value") == "2"
    expect(attempts.nth(2).locator("pre")).to_be_visible()
    expect(attempts.nth(2).locator("pre")).to_have_text(f"line 7 in charge {SHORT}")
    expect(attempts.nth(3).locator("pre")).to_be_hidden()
    attempts.nth(3).get_by_text("Where it failed").click()
    expect(attempts.nth(3).locator("pre")).to_have_text("an earlier one")
    assert page.locator("main img, main script").count() == 0


def test_jobs_are_found_by_a_filter_that_stands_in_the_address(
    page: Page, client: Client, queue: str, orders: str
) -> None:
    made = client.enqueue_batch(queue, [{"n": n, "of": queue} for n in range(120)], tags=["t"])
    broken = dead_id(client, orders)
    form = go(page, "jobs").locator("form")
    found = page.locator("#jobs tbody tr")
    note = page.locator("#jobs .nothing")
    form.get_by_label("In queue").fill(queue)
    form.get_by_label("Tag").fill("t")
    form.get_by_role("button", name="Search").click()
    expect(found).to_have_count(50)
    expect(found.nth(0)).to_contain_text(str(made[-1]))
    seen = {row.inner_text() for row in found.get_by_role("rowheader").all()}
    for count in (50, 20):
        form.get_by_role("button", name="Go on").click()
        expect(found).to_have_count(count)
        expect(found.nth(0)).not_to_contain_text(str(made[-1]))
        seen |= {row.inner_text() for row in found.get_by_role("rowheader").all()}
    expect(note).to_have_text("20 here, and no more.")
    expect(form.get_by_role("button", name="Go on")).to_be_disabled()
    assert seen == {str(job_id) for job_id in made}

    # The address is what a colleague opens.
    page.reload()
    expect(found).to_have_count(20)
    expect(form.get_by_label("In queue")).to_have_value(queue)
    form.get_by_label("Payload contains").fill(f'{{"of": "{queue}", "n": 7}}')
    page.keyboard.press("Enter")
    expect(found).to_have_count(1)
    expect(found).to_contain_text(str(made[7]))
    form.get_by_label("Payload contains").fill("no json")
    page.keyboard.press("Enter")
    expect(note).to_contain_text("payload is no JSON")
    expect(found).to_have_count(0)

    form.get_by_label("Payload contains").fill("")
    form.get_by_label("Tag").fill("")
    form.get_by_label("In queue").fill(orders)
    form.get_by_label("State").select_option("failed")
    form.get_by_label("Error contains").fill("on fire")
    page.keyboard.press("Enter")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("printer on fire")
    found.get_by_role("link", name=f"Show job {broken}").click()
    expect(page.locator("#job-title")).to_have_text(f"Job {broken}")
    page.go_back()
    expect(found).to_have_count(1)
    form.get_by_label("In queue").fill("no such queue")
    page.keyboard.press("Tab")
    form.get_by_role("button", name="Search").click()
    expect(note).to_contain_text("does not exist")


def test_a_job_says_why_it_does_not_run(page: Page, client: Client, orders: str) -> None:
    job_id = dead_id(client, orders)
    row(page, "blocked", orders).get_by_role("link", name=f"Show job {job_id}").click()
    detail = page.locator("#job-detail")
    expect(detail.locator(".why")).to_have_text(client.why_not_running(job_id))
    expect(detail.locator(".history li")).to_have_text(
        [
            re.compile("enqueued$"),
            re.compile("claimed by page-worker, attempt 1$"),
            re.compile("failed for good: printer on fire$"),
        ]
    )
    expect(page.locator("#job")).to_be_focused()
    show_job(page, 999999999)
    expect(detail).to_contain_text("999999999")


def test_workers_are_listed(page: Page, client: Client, queue: str) -> None:
    name = f"worker-{queue}"
    client.worker_heartbeat(name, capacity=7, tags=["eu"])
    cells = row(page, "workers", name).locator("td")
    expect(cells.nth(1)).to_have_text("7")
    expect(cells.nth(2)).to_have_text("eu")


def test_what_jobs_say_is_never_html(page: Page, client: Client) -> None:
    name = f"hostile {SHORT} {uuid.uuid4().hex[:8]}"
    client.create_fifo_queue(name, max_attempts=1)
    job_id = client.enqueue_job(name, {HOSTILE: HOSTILE}, singleton_key=HOSTILE, tags=[HOSTILE])
    [job] = client.claim_job_batch(HOSTILE, [name])
    client.fail_job(job.id, HOSTILE, job.lease_token)
    client.worker_heartbeat(HOSTILE, tags=[HOSTILE])
    expect(row(page, "blocked", "hostile")).to_contain_text(HOSTILE)
    expect(row(page, "workers", "<img")).to_contain_text(HOSTILE)
    row(page, "dead", "hostile").get_by_text("Payload").click()
    expect(row(page, "dead", "hostile").locator("pre")).to_contain_text("<script>")
    row(page, "blocked", "hostile").get_by_role("link", name=f"Show job {job_id}").click()
    expect(page.locator("#job-detail pre")).to_contain_text("<script>")
    assert page.locator("main img, main script").count() == 0
    assert page.evaluate("window.pwned") is None
    client.drop_queue(name, force=True)


def test_numbers_are_shown_as_they_are_stored(
    page: Page, client: Client, queue: str, gateway_dsn: str
) -> None:
    with psycopg.connect(gateway_dsn, autocommit=True) as conn:
        [(done, failed)] = conn.execute(
            "select pgbaton.enqueue_job(%(q)s, %(p)s), pgbaton.enqueue_job(%(q)s, %(p)s)",
            {"q": queue, "p": PAYLOAD},
        ).fetchall()
        first, second = client.claim_job_batch("w", [queue], batch_size=2)
        conn.execute(
            "select pgbaton.complete_job(%s, %s::jsonb, %s)", [done, PAYLOAD, first.lease_token]
        )
        client.fail_job(failed, "no", second.lease_token, retryable=False)
        [(text,)] = conn.execute("select %s::jsonb::text", [PAYLOAD]).fetchall()
    wanted = exactly(text)
    letter = row(page, "dead", queue)
    letter.get_by_text("Payload").click()
    assert exactly(letter.locator("pre").inner_text()) == wanted
    raw = show_job(page, done).locator(".raw")
    expect(raw).to_have_count(2)
    for part in raw.all():
        part.get_by_text("As text").click()
    shown = page.locator("#job-detail pre")
    expect(shown).to_have_count(2)
    assert [exactly(part) for part in shown.all_inner_texts()] == [wanted, wanted]


def test_ids_beyond_what_a_browser_counts_to(
    browser: Browser, server_dsn: str, template: str
) -> None:
    """2^53 + 1 is 2^53 there, which would be another job."""
    with database(server_dsn, template, "large_ids") as dsn, serving(dsn) as served:
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("select setval('pgbaton.job_id_seq', %s)", [2**53])
        with Client(dsn) as client:
            client.create_fifo_queue("q", max_attempts=1)
            job_id = client.enqueue_job("q", singleton_key="k")
            assert job_id == 2**53 + 1
            [job] = client.claim_job_batch("w")
            client.fail_job(job.id, "no", job.lease_token)
            for page in opened(browser, served):
                blocked = row(page, "blocked", "k")
                blocked.get_by_role("link", name=f"Show job {job_id}").click()
                expect(page.locator("#job-title")).to_have_text(f"Job {job_id}")
                page.go_back()
                blocked.get_by_role("button", name=f"Retry job {job_id}").click()
                expect(page.locator("#said")).to_have_text(f"Job {job_id} will run once more.")
            assert client.get_job(job_id).state == JobState.RETRY


def test_focus_stays_while_the_page_is_drawn_anew(page: Page, orders: str) -> None:
    button = row(page, "blocked", orders).get_by_role("button", name="Retry").first
    button.focus()
    before = page.locator("#connection").inner_text()
    expect(page.locator("#connection")).not_to_have_text(before)
    expect(button).to_be_focused()


def test_it_can_be_found_without_eyes(page: Page, orders: str) -> None:
    expect(row(page, "blocked", orders)).to_have_count(2)
    for role in ("banner", "navigation", "main"):
        expect(page.get_by_role(role)).to_have_count(1)  # type: ignore[arg-type]
    for section, region in (VIEWS | {"queues": "Queues", "jobs": "Find jobs"}).items():
        go(page, section)
        expect(page.get_by_role("region", name=region).first).to_be_visible()
        nameless = page.evaluate(
            """() => [...document.querySelectorAll('button, input, select')].filter((e) =>
                e.checkVisibility() && !e.labels?.length && !e.ariaLabel && !e.textContent.trim()
            ).map((e) => e.outerHTML)"""
        )
        assert nameless == []
    page.reload()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the queues")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#queues")).to_be_focused()


def luminance(page: Page, what: str) -> float:
    return float(
        page.evaluate(
            """(what) => {
                const [r, g, b] = getComputedStyle(document.body)[what].match(/[\\d.]+/g)
                    .map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92
                        : ((c + 0.055) / 1.055) ** 2.4);
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            }""",
            what,
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_dark_where_that_is_wished(browser: Browser, gateway: Served, scheme: str) -> None:
    for page in opened(browser, gateway, color_scheme=scheme):
        paper, ink = luminance(page, "backgroundColor"), luminance(page, "color")
        assert (paper > ink) == (scheme == "light")
        assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) > 7


def test_it_fits_a_narrow_screen(browser: Browser, gateway: Served, orders: str) -> None:
    for page in opened(browser, gateway, viewport={"width": 400, "height": 800}):
        expect(row(page, "blocked", orders)).to_have_count(2)
        expect(row(page, "queues", orders)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert row(page, "blocked", orders).first.get_by_role("button", name="Skip").is_visible()


def test_a_token_is_asked_for_once(browser: Browser, guarded: Served, orders: str) -> None:
    for page in opened(browser, guarded):
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("That token is not known here.")
        page.get_by_label("Token").fill("shop")
        page.keyboard.press("Enter")
        expect(row(page, "queues", orders)).to_be_visible()
        page.reload()
        expect(row(page, "queues", orders)).to_be_visible()
        expect(page.get_by_label("Token")).to_be_hidden()


def test_who_may_not_look_is_told_so(browser: Browser, guarded: Served) -> None:
    for page in opened(browser, guarded):
        page.get_by_label("Token").fill("till")
        page.keyboard.press("Enter")
        expect(page.locator("#queues .nothing")).to_contain_text("permission denied")
        expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(["Home"])
        for section in ("blocked", "workers"):
            page.evaluate("where => location.hash = where", section)
            expect(page.locator(f"#{section} .nothing")).to_contain_text("permission denied")
