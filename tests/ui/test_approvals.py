"""A task that waits for a person is answered by a form in the interface, by those who may."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.black_box.server import Server, eventually
from tests.ui.conftest import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

APP = """
from dataclasses import dataclass
from drumline import Context, Drumline, inject

app = Drumline("press")


@dataclass
class Approval:
    by: str
    is_good: bool
    note: str | None = None


@app.task(name="publish")
async def publish(article: int, *, ctx: Context[None] = inject()) -> str:
    await ctx.step("draft", lambda: f"article {article}")
    await ctx.sleep("let it rest", 0)
    approval = await ctx.wait_for("approved", Approval, timeout="7d")
    return f"published by {approval.by}: {approval.is_good}"


@app.task(name="serial")
async def serial(part: int, *, ctx: Context[None] = inject()) -> None:
    await ctx.step(f"write part {part}", lambda: part)
    if part < 3:
        await ctx.restart(serial, part + 1)
    await ctx.wait_for("approved", Approval, timeout="7d")
"""


@pytest.fixture(scope="module")
def press(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("press")
    app = folder / "press.py"
    app.write_text(APP)
    with Server(folder / "data", app=app) as server:
        yield server


def waiting_task(server: Server) -> str:
    task = server.submit("publish", payload={"article": 7})
    eventually(lambda: server.get(task)["is_waiting"], 30, lambda: server.errors)
    return task


async def test_a_task_is_approved_by_a_form_and_the_audit_log_says_by_whom_and_why(
    visitor: Visit, press: Server
) -> None:
    task = waiting_task(press)
    someone = await visitor(press)
    page = someone.page
    await someone.open(f"/tasks/{task}")
    await page.locator("h1").get_by_text("Waiting").wait_for()
    steps = page.get_by_role("region", name="Steps")
    await steps.get_by_text("waiting for a signal since").wait_for()
    assert [await each.inner_text() for each in await steps.locator("strong").all()] == [
        "draft", "let it rest", "approved",
    ]  # fmt: skip

    await someone.focus(steps.get_by_role("button", name="Answer"))
    await someone.press("Enter")
    await someone.write(page.get_by_label("by", exact=True), "ada")
    await someone.choose(page.get_by_label("is_good"), "Yes")
    await someone.write(page.get_by_label("Reason"), "read it twice")
    await someone.focus(page.get_by_role("button", name="Send"))
    await someone.press("Enter")

    await page.locator("h1").get_by_text("Completed").wait_for()
    await page.locator("main").get_by_text("published by ada: True").first.wait_for()
    rows = press.ask("GET", "/api/v1/audit")[1]["items"]
    assert ("task.signal", "read it twice") in {(row["act"], row.get("reason")) for row in rows}


async def test_whoever_may_not_signal_sees_what_is_waited_for_and_no_button(visitor: Visit, press: Server) -> None:
    task = waiting_task(press)
    _, made = press.ask("POST", "/api/v1/keys", {"name": "looks only", "role": "viewer"})
    someone = await visitor(press, key=made["key"])
    await someone.open(f"/tasks/{task}")

    steps = someone.page.get_by_role("region", name="Steps")
    await steps.get_by_text("waiting for a signal since").wait_for()

    assert await steps.get_by_role("button", name="Answer").count() == 0


async def test_rounds_that_are_over_are_shown_with_what_they_were_given(visitor: Visit, press: Server) -> None:
    task = press.submit("serial", payload={"part": 1})
    eventually(lambda: press.get(task)["is_waiting"], 30, lambda: press.errors)
    someone = await visitor(press)
    await someone.open(f"/tasks/{task}")
    steps = someone.page.get_by_role("region", name="Steps")
    await steps.get_by_text("waiting for a signal since").wait_for()

    await someone.focus(steps.locator("summary").first)
    await someone.press("Enter")

    await steps.get_by_text("write part 1").wait_for()
    assert await steps.locator("summary strong").all_inner_texts() == ["Round 1", "Round 2"]
    assert "1 step, ended" in await steps.locator("summary").first.inner_text()
