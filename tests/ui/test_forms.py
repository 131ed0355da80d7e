"""Every form says what is wrong: at the field that is wrong, or on top where no field is."""

import json
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest
from playwright.async_api import Error, Locator, Page, Route, expect

from tests.harness.browser import Visitor
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

REFUSAL = "is refused by this test"
PROBLEM = {"type": "about:blank", "title": "No", "status": 422, "code": "invalid", "field": "nowhere.to[0].be_seen"}


async def run_form(page: Page, name: str) -> Locator:
    """Open the form that runs a type of task."""
    panel = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=name, exact=True))
    await panel.get_by_role("button", name="Run").click()
    return page.get_by_role("dialog", name=f"Run {name}")


async def test_a_wrong_number_is_said_at_its_field_and_nothing_is_sent(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/types")
    form = await run_form(someone.page, "import.rows")
    sent: list[str] = []
    someone.page.on("request", lambda request: sent.append(request.method) if request.method == "POST" else None)

    await form.get_by_label("file").fill("rows.csv")
    await form.get_by_label("line").fill("twelve")
    await form.get_by_role("button", name="Run", exact=True).click()

    await expect(form.get_by_text("Must be a number")).to_be_visible()
    await expect(form.get_by_label("line")).to_be_focused()
    assert await form.get_by_label("line").get_attribute("aria-invalid") == "true"
    assert sent == []


async def test_a_required_text_that_is_empty_is_asked_for_and_not_sent(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/types")
    form = await run_form(someone.page, "import.rows")
    sent: list[str] = []
    someone.page.on("request", lambda request: sent.append(request.method) if request.method == "POST" else None)

    await form.get_by_label("line").fill("3")
    await form.get_by_role("button", name="Run", exact=True).click()

    await expect(form.get_by_text("Is required.")).to_be_visible()
    assert sent == []

    await form.get_by_label("file").fill("rows.csv")
    await form.get_by_role("button", name="Run", exact=True).click()
    await someone.page.wait_for_url("**/tasks/*")
    task = busy.server.get(someone.page.url.rpartition("/")[2])
    assert task["payload"] == {"file": "rows.csv", "line": 3}


class Form(NamedTuple):
    """A form: where it is, how it is opened and filled, and which button sends it."""

    place: str
    opens: Callable[[Page], Awaitable[None]]
    sends: str
    fills: Mapping[str, str] = MappingProxyType({})


def by(button: str) -> Callable[[Page], Awaitable[None]]:
    """Press a button of the page."""

    async def press(page: Page) -> None:
        await page.locator("main").get_by_role("button", name=button, exact=True).first.click()

    return press


def in_row(text: str, button: str) -> Callable[[Page], Awaitable[None]]:
    """Press a button of a row."""

    async def press(page: Page) -> None:
        await page.get_by_role("row").filter(has_text=text).get_by_role("button", name=button).first.click()

    return press


async def run_shell(page: Page) -> None:
    """Open the form of a type whose fields are known."""
    await run_form(page, "import.rows")


async def cancel_all(page: Page) -> None:
    """Ask for something to be done to every task that matches."""
    await page.keyboard.press("a")
    await page.get_by_role("button", name="Cancel all").click()


FORMS = {
    "run": Form("/types", run_shell, "Run", {"file": "x", "line": "1"}),
    "submit": Form("/tasks", by("Submit"), "Submit", {"Name": "nobody-has-this"}),
    "bulk": Form("/tasks?tag=in-a-form", cancel_all, "Cancel 1"),
    "failures": Form("/failures", by("Retry all"), "Retry "),
    "schedule": Form("/schedules", by("New schedule"), "Create", {"Name": "a form", "Task": "shell"}),
    "pause": Form("/queues", in_row("media", "Pause"), "Pause"),
    "limit": Form("/queues", by("New limit"), "Save", {"Name": "a form", "Queue": "etl", "Max concurrent": "3"}),
    "no limit": Form("/queues", in_row("in-a-form", "Delete"), "Delete"),
    "key": Form("/keys", by("New key"), "Create key", {"Name": "a form"}),
    "subscription": Form(
        "/notifications", by("New subscription"), "Subscribe", {"Name": "a form", "URL": "https://example.com/a"}
    ),
    "no subscription": Form("/notifications", by("Delete"), "Delete"),
    "secret": Form("/secrets", by("New secret"), "Save", {"Name": "a-form", "Value": "s"}),
    "no secret": Form("/secrets", in_row("in-a-form", "Delete"), "Delete"),
    "configuration": Form("/settings", by("Change"), "Save", {"Setting": "worker.concurrency", "Value": "4"}),
}


@pytest.fixture(scope="module")
def formed(busy: Busy) -> Busy:
    """The demo, with one thing for each form that needs one."""
    server = busy.server
    server.submit("nobody-has-this", delay="1h", tags=["in-a-form"])
    answers = [
        server.ask("PUT", "/api/v1/limits/in-a-form", {"queue": "in-a-form", "max_concurrent": 3}),
        server.ask("PUT", "/api/v1/secrets/in-a-form", {"value": "secret"}),
    ]
    assert [status for status, _ in answers if status >= 400] == [], answers
    return busy


async def test_a_problem_that_belongs_to_no_field_is_on_top_of_every_form(visitor: Visit, formed: Busy) -> None:
    someone = await visitor(formed.server)
    someone.expected = ["422"]

    faults = {name: await fault_of(someone, form) for name, form in FORMS.items()}

    assert {name: fault for name, fault in faults.items() if fault is not None} == {}


async def fault_of(someone: Visitor, form: Form) -> str | None:
    """Send a form that is refused, and return what is wrong with what it shows."""
    await someone.page.unroute("**/api/v1/**")
    try:
        await someone.open(form.place)
        dialog = await filled(someone.page, form)
        await someone.page.route("**/api/v1/**", refuse)
        await dialog.get_by_role("button", name=form.sends, exact=not form.sends.endswith(" ")).last.click()
        shown = dialog.get_by_role("alert")
        await expect(shown).to_be_visible()
        await expect(shown).to_have_text(f"Nowhere.to[0].be_seen: {REFUSAL}.")
        await expect(shown).to_be_in_viewport()
    except (AssertionError, Error) as error:
        return str(error)
    return "; ".join(await someone.barriers()) or None


async def filled(page: Page, form: Form) -> Locator:
    """Open a form and fill it in."""
    await form.opens(page)
    dialog = page.get_by_role("dialog")
    for label, text in form.fills.items():
        await dialog.get_by_label(label, exact=True).fill(text)
    return dialog


async def refuse(route: Route) -> None:
    """Refuse every change; reads, dry runs and previews pass."""
    asked = json.loads(route.request.post_data or "{}")
    if route.request.method == "GET" or asked.get("dry_run") or route.request.url.endswith("/preview"):
        await route.fallback()
        return
    body = json.dumps({**PROBLEM, "detail": REFUSAL})
    await route.fulfill(status=422, content_type="application/problem+json", body=body)


async def test_what_the_browser_finds_wrong_is_said_beneath_the_field(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/notifications")
    await someone.page.get_by_role("button", name="New subscription").click()
    dialog = someone.page.get_by_role("dialog")
    await dialog.get_by_label("URL").fill("not an address")
    await dialog.get_by_role("button", name="Subscribe").click()

    await expect(dialog.get_by_label("Name", exact=True)).to_be_focused()
    assert await dialog.locator("[aria-invalid=true]").count() == 2
    assert await dialog.locator("p[id$=-notes]").filter(has_text="URL").count() == 1


async def test_escape_asks_before_it_drops_a_form_that_was_filled_in(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/tasks")
    page = someone.page
    dialog = page.get_by_role("dialog")
    await page.get_by_role("button", name="Submit").click()
    await dialog.get_by_label("Name").wait_for()
    await someone.press("Escape")
    await expect(dialog).to_have_count(0)  # nothing was filled in

    await page.get_by_role("button", name="Submit").click()
    await dialog.get_by_label("Name").fill("a name that took a while")
    await someone.press("Escape")
    await dialog.get_by_text("Discard what you entered?").wait_for()
    await dialog.get_by_role("button", name="Keep editing").click()
    await expect(dialog.get_by_label("Name")).to_have_value("a name that took a while")
    await someone.press("Escape")
    await dialog.get_by_role("button", name="Discard").click()

    await expect(dialog).to_have_count(0)


async def test_a_task_is_submitted_with_the_options_that_were_written(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/tasks")
    await someone.page.get_by_role("button", name="Submit").click()
    form = someone.page.get_by_role("dialog")

    await form.get_by_label("Name").fill("nobody-has-this")
    await form.get_by_text("More options").click()
    await form.get_by_label("Retries").fill("many")
    await form.get_by_label("Tags").fill("money, urgent")
    await form.get_by_role("button", name="Submit").click()
    await expect(form.get_by_label("Retries")).to_be_focused()
    await form.get_by_label("Retries").fill("7")
    assert await someone.barriers() == []
    await form.get_by_role("button", name="Submit").click()
    await someone.page.wait_for_url("**/tasks/*")

    task = busy.server.get(someone.page.url.rpartition("/")[2])
    assert (task["retries"], task["tags"]) == (7, ["money", "urgent"])
