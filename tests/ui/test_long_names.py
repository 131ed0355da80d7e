"""Long names are wrapped or cut: they push nothing off the page, and cover nothing."""

import pytest

from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

LONG = "a-name-that-does-not-end-" * 6
QUEUE = LONG[:100]
OUTSIDE = """() => {
  const all = "main button:not([role=tab]), main a, main section, main h1, main li, main td, main th, main [role=cell]";
  const cut = one => one.parentElement.closest("[role=cell], td:not([data-acts])");  // what is in it ends where it ends
  return [...document.querySelectorAll(all)]
    .map(one => [one, one.getBoundingClientRect()])
    .filter(([one, box]) => box.width > 0 && !cut(one) && (box.right > innerWidth + 1 || box.left < -1))
    .map(([one, box]) => `${one.tagName} ${one.textContent.slice(0, 40)} ${box.right}`);
}"""


@pytest.fixture(scope="module")
def places(busy: Busy) -> list[str]:
    """Pages with a long name on each."""
    server = busy.server
    task = server.submit(LONG, queue=QUEUE, delay="1h", tags=[LONG[:60]], idempotency_key=LONG)
    asked = [
        server.ask("POST", "/api/v1/jobs", {"name": LONG, "owner": LONG, "tasks": {LONG[:120]: {"name": LONG}}}),
        server.ask("POST", "/api/v1/schedules", {"name": LONG, "cron": "0 0 1 1 *", "task": {"name": LONG}}),
        server.ask("POST", "/api/v1/keys", {"name": LONG[:100], "role": "viewer"}),
        server.ask("PUT", f"/api/v1/limits/{LONG[:60]}", {"queue": QUEUE, "max_concurrent": 3}),
        server.ask("PUT", f"/api/v1/secrets/{LONG[:60]}", {"value": "secret"}),
        server.ask(
            "POST",
            "/api/v1/subscriptions",
            {"name": LONG, "events": ["drumline.job.failed"], "webhook": f"https://example.com/{LONG}"},
        ),
    ]  # fmt: skip
    assert [answer for answer in asked if answer[0] >= 400] == []
    job, schedule = asked[0][1]["id"], asked[1][1]["id"]
    server.ask("POST", f"/api/v1/queues/{QUEUE}/pause", {"reason": LONG})
    return [
        f"/tasks/{task}", f"/jobs/{job}", f"/jobs/{job}?tab=list", f"/schedules/{schedule}", "/tasks", "/jobs",
        "/queues", "/schedules", "/keys", "/secrets", "/notifications", "/overview",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1440, 390])
async def test_a_long_name_pushes_nothing_off_the_page(
    visitor: Visit, busy: Busy, places: list[str], width: int
) -> None:
    someone = await visitor(busy.server, viewport={"width": width, "height": 900})
    for place in places:
        await someone.open(place)

        assert await someone.page.evaluate(OUTSIDE) == [], place
        assert await someone.overflow() == [], place
