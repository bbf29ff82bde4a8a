"""The limits of a queue are set on the page: by mouse, by keyboard, by those who may."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from browser import opened, row
from playwright.sync_api import Browser, Locator, Page, expect
from serving import Served

from pgbaton import Client, QueueLimits

RUN, START, INTERVAL = "Run at once, at most", "Start in an interval", "This interval, in seconds"
BURST, OF_KEY = "Of these at once", "Of each key run at once"
KEY_START, KEY_INTERVAL = "Of each key start", "This interval of a key"
KEY_BURST = "Of these of a key at once"


def line_of(page: Page, queue: str) -> Locator:
    """Its row, though it is idle."""
    page.get_by_label("Name contains").fill(queue)
    return row(page, "queues", queue)


def form(page: Page, queue: str) -> Locator:
    line_of(page, queue).get_by_role("button", name=f"Limits of queue {queue}", exact=True).click()
    return page.get_by_role("dialog", name=f"Limits of queue {queue}", exact=True)


def set_limits(dialog: Locator) -> None:
    dialog.get_by_role("button", name="Set limits").click()


def limits_of(client: Client, queue: str) -> QueueLimits | None:
    return next((found for found in client.list_queue_limits() if found.queue == queue), None)


def test_limits_are_set_changed_and_removed(page: Page, client: Client, queue: str) -> None:
    dialog = form(page, queue)
    for label in (RUN, START, INTERVAL, BURST):
        expect(dialog.get_by_label(label)).to_have_value("")
    for label in (OF_KEY, KEY_START, KEY_INTERVAL):
        expect(dialog.get_by_label(label)).to_have_count(0)  # a standard queue has no keys in order
    dialog.get_by_label(RUN).fill("4")
    dialog.get_by_label(START).fill("60")
    dialog.get_by_label(INTERVAL).fill("0.5")
    dialog.get_by_label(BURST).fill("10")
    set_limits(dialog)
    said = page.locator("#said")
    expect(said).to_have_text(f"The limits of queue {queue} are set.")
    expect(line_of(page, queue)).to_contain_text("0 of 4 run · 60 in 500 ms")
    found = limits_of(client, queue)
    assert found is not None
    assert (found.max_running, found.rate_count, found.rate_burst) == (4, 60, 10)
    assert found.rate_interval == timedelta(seconds=0.5)
    dialog = form(page, queue)
    dialog.get_by_label(INTERVAL).fill("1")
    set_limits(dialog)
    expect(line_of(page, queue)).to_contain_text("60 in 1 s")
    client.set_queue_limits(
        queue, max_running=4, rate_count=60, rate_interval="0.5 s", rate_burst=10
    )
    expect(line_of(page, queue)).to_contain_text("60 in 500 ms")
    dialog = form(page, queue)
    for label, value in ((RUN, "4"), (START, "60"), (INTERVAL, "0.5"), (BURST, "10")):
        expect(dialog.get_by_label(label)).to_have_value(value)
        dialog.get_by_label(label).fill("")
    set_limits(dialog)
    expect(said).to_have_text(f"Queue {queue} has no limits.")
    expect(line_of(page, queue)).not_to_contain_text("of 4 run")
    assert limits_of(client, queue) is None


def test_leaving_it_changes_nothing(page: Page, client: Client, queue: str) -> None:
    client.set_queue_limits(queue, max_running=2)
    expect(line_of(page, queue)).to_contain_text("0 of 2 run")
    dialog = form(page, queue)
    dialog.get_by_label(RUN).fill("3")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    dialog = form(page, queue)
    expect(dialog.get_by_label(RUN)).to_have_value("2")
    dialog.get_by_label(RUN).fill("3")
    dialog.get_by_role("button", name="Leave it").click()
    found = limits_of(client, queue)
    assert found is not None
    assert found.max_running == 2


def test_what_is_refused_is_asked_again(page: Page, client: Client, queue: str) -> None:
    dialog = form(page, queue)
    dialog.get_by_label(START).fill("60")
    set_limits(dialog)
    expect(dialog).to_have_accessible_description(re.compile("Not set: .* rate"))
    expect(dialog.get_by_label(START)).to_have_value("60")
    dialog.get_by_label(INTERVAL).fill("60")
    set_limits(dialog)
    expect(line_of(page, queue)).to_contain_text("60 in 1 min")
    dialog = form(page, queue)
    dialog.get_by_label(RUN).fill("1001")
    set_limits(dialog)  # the browser itself knows the greatest number
    expect(dialog).to_be_visible()
    assert dialog.get_by_label(RUN).evaluate("field => field.validity.rangeOverflow")


@pytest.mark.parametrize("policy", ["fifo", "singleton"])
def test_queues_with_keys_have_limits_of_each_key(
    page: Page, client: Client, queue: str, policy: str
) -> None:
    client.drop_queue(queue)
    if policy == "fifo":
        client.create_fifo_queue(queue)
    else:
        client.create_queue(queue, policy=policy)
    expect(line_of(page, queue)).to_contain_text(policy)
    dialog = form(page, queue)
    dialog.get_by_label(KEY_START).fill("5")
    dialog.get_by_label(KEY_INTERVAL).fill("60")
    dialog.get_by_label(KEY_BURST).fill("1")
    words = "5 of a key in 1 min"
    if policy == "fifo":
        expect(dialog.get_by_label(OF_KEY)).to_have_count(0)
    else:
        dialog.get_by_label(OF_KEY).fill("3")
        words = f"3 of a key · {words}"
    set_limits(dialog)
    expect(line_of(page, queue)).to_contain_text(words)
    found = limits_of(client, queue)
    assert found is not None
    assert (found.key_rate_count, found.key_rate_interval) == (5, timedelta(minutes=1))
    assert found.key_rate_burst == 1
    assert found.key_limit == (None if policy == "fifo" else 3)


def test_by_keyboard_on_a_telephone(
    browser: Browser, gateway: Served, client: Client, queue: str
) -> None:
    for page in opened(browser, gateway, viewport={"width": 375, "height": 667}):
        button = line_of(page, queue).get_by_role("button", name="Limits of queue")
        button.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label(RUN)).to_be_focused()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        box = dialog.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 667
        page.keyboard.press("Enter")  # nothing was filled in
        expect(dialog).to_be_hidden()
        assert limits_of(client, queue) is None
        page.keyboard.press("Enter")
        expect(dialog.get_by_label(RUN)).to_be_focused()
        page.keyboard.type("7")
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_have_text(f"The limits of queue {queue} are set.")
        expect(button).to_be_focused()
        found = limits_of(client, queue)
        assert found is not None
        assert found.max_running == 7


def test_who_may_not_set_them_is_not_offered_them(
    browser: Browser, guarded: Served, client: Client, queue: str, roles: dict[str, str]
) -> None:
    other = f"{queue}-other"
    client.create_queue(other)
    for name, action in ((queue, "operate"), (queue, "monitor"), (other, "monitor")):
        client.grant_queue(roles["narrow"], name, action)
    for token, offered in (("eye", []), ("narrow", [queue]), ("shop", [queue, other])):
        for page in opened(browser, guarded):
            page.get_by_label("Token").fill(token)
            page.keyboard.press("Enter")
            line_of(page, queue)  # and the other one, whose name begins alike
            for name in (queue, other):
                line = page.locator("#queues tbody tr").filter(
                    has=page.get_by_role("link", name=name, exact=True)
                )
                expect(line).to_be_visible()
                button = line.get_by_role("button", name=f"Limits of queue {name}", exact=True)
                expect(button).to_have_count(1 if name in offered else 0)
    for name, action in ((queue, "operate"), (queue, "monitor"), (other, "monitor")):
        client.revoke_queue(roles["narrow"], name, action)
    client.drop_queue(other, force=True)
