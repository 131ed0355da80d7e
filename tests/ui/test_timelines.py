"""Where the time of tasks and jobs went, what a job waits for, and how its runs compare."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.black_box.server import Server, eventually
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

APP = """
from drumline import Context, Drumline, Permanent, inject

app = Drumline("mill")


@app.task(name="grind")
async def grind(corn: str) -> str:
    if corn == "stone":
        raise Permanent("that is a stone")
    return corn


@app.task(name="bake")
async def bake(loaves: int, *, ctx: Context[None] = inject()) -> int:
    await ctx.step("knead", lambda: loaves)
    await ctx.sleep("let it rise", 0)
    await ctx.call(grind.call("wheat"), name="flour")
    await ctx.wait_for("fire")
    return loaves
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("mill")
    app = folder / "mill.py"
    app.write_text(APP)
    with Server(folder / "data", app=app) as server:
        yield server


def job_of(server: Server, corn: str) -> str:
    """Run a job of two tasks to its end, and return its id."""
    tasks = {
        "grind": {"name": "grind", "payload": {"corn": corn}},
        "again": {"name": "grind", "payload": {"corn": "rye"}, "needs": ["grind"]},
    }
    status, made = server.ask("POST", "/api/v1/jobs", {"name": "flour", "tasks": tasks})
    assert status == 201, made
    job = str(made["id"])
    eventually(lambda: of_job(server, job)["finished_at"] is not None, 30, lambda: server.errors)
    return job


def of_job(server: Server, job: str) -> Any:
    return server.ask("GET", f"/api/v1/jobs/{job}")[1]


async def test_the_timeline_of_a_durable_task_has_its_attempts_steps_waits_and_children(
    visitor: Visit, mill: Server
) -> None:
    task = mill.submit("bake", payload={"loaves": 3})
    eventually(
        lambda: any(wait["kind"] == "signal" for wait in mill.ask("GET", f"/api/v1/tasks/{task}/steps")[1]["waits"]),
        30,
        lambda: mill.errors,
    )
    someone = await visitor(mill)
    await someone.open(f"/tasks/{task}")
    timeline = someone.page.get_by_role("region", name="Timeline")

    for row in ("Attempt 1", "knead", "let it rise", "flour", "fire"):
        await expect(timeline.get_by_text(row, exact=True)).to_be_visible()
    child = timeline.get_by_role("link", name="grind")
    await child.click()

    await expect(someone.page.locator("h1")).to_contain_text("grind")


async def test_the_timeline_of_a_job_has_every_task_that_ran_and_selects_it(visitor: Visit, busy: Busy) -> None:
    jobs = busy.server.ask("GET", "/api/v1/jobs?name=rebuild%20the%20index")[1]["items"]
    someone = await visitor(busy.server)
    await someone.open(f"/jobs/{jobs[0]['id']}?tab=gantt")  # as links of earlier versions name it
    rows = someone.page.get_by_role("group", name="Times of the tasks")

    await rows.get_by_role("button", name="plan").click()

    await expect(someone.page).to_have_url(f"{someone.url}/ui/jobs/{jobs[0]['id']}?tab=gantt&node=plan")
    await expect(someone.page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    assert await rows.get_by_role("button").count() > 20


async def test_a_job_that_does_not_end_says_which_tasks_it_waits_for(visitor: Visit, mill: Server) -> None:
    tasks = {"a": {"name": "nobody.has"}, "b": {"name": "grind", "needs": ["a"], "payload": {"corn": "rye"}}}
    job = mill.ask("POST", "/api/v1/jobs", {"name": "stuck", "tasks": tasks})[1]["id"]
    someone = await visitor(mill)
    await someone.open(f"/jobs/{job}")
    why = someone.page.get_by_role("region", name="Waiting for")

    await expect(why.get_by_text("No live worker has the task nobody.has.")).to_be_visible()
    await expect(why.get_by_text("blocks 1 task")).to_be_visible()
    await why.get_by_role("button", name="a", exact=True).click()

    await expect(someone.page).to_have_url(f"{someone.url}/ui/jobs/{job}?node=a")


async def test_runs_of_a_job_are_a_grid_and_two_of_them_are_compared(visitor: Visit, mill: Server) -> None:
    job_of(mill, "wheat")
    broken = job_of(mill, "stone")
    someone = await visitor(mill)
    await someone.open(f"/jobs/{broken}?tab=runs")
    page = someone.page
    grid = page.get_by_role("group", name="Runs and their tasks")

    await expect(grid.get_by_role("link", name="grind: Failed")).to_have_count(1)
    await expect(grid.get_by_role("link", name="grind: Completed")).to_have_count(1)
    await expect(grid.get_by_role("link", name="again: Skipped")).to_have_count(1)
    await page.get_by_role("button", name="Compare", exact=True).click()

    await expect(page.locator("h1")).to_have_text("Compare runs of flour")
    row = page.get_by_role("row", name="grind").first
    await expect(row).to_contain_text("Completed")
    await expect(row).to_contain_text("Failed")
    payloads = page.get_by_role("region", name="Payloads")
    await expect(payloads.get_by_role("row", name="grind: corn")).to_contain_text('"wheat""stone"')


async def test_two_tasks_are_compared_from_the_page_of_one(visitor: Visit, mill: Server) -> None:
    first, second = (mill.submit("grind", payload={"corn": corn}) for corn in ("barley", "oats"))
    for task in (first, second):
        eventually(lambda task=task: mill.get(task)["status"] == "COMPLETED", 30, lambda: mill.errors)  # type: ignore[misc]
    someone = await visitor(mill)
    await someone.open(f"/tasks/{first}")
    page = someone.page

    await page.get_by_role("button", name="Compare…").click()
    await page.get_by_role("link", name=second).click()

    await expect(page.locator("h1")).to_have_text("Compare tasks of grind")
    payload = page.get_by_role("region", name="Payload")
    await expect(payload.get_by_role("row", name="corn")).to_contain_text('"barley""oats"')
    await expect(page.get_by_text("The options are the same.")).to_be_visible()
