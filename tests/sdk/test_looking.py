"""What a handle shows: its page, its attempts, and its state in a notebook."""

import pytest

from drumline import Drumline, DrumlineError, Task
from drumline.core.attempt import Progress
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo, Failed
from drumline.core.state import Status
from drumline.sdk.embedded import EmbeddedTransport, opened_here
from drumline.sdk.http import HttpTransport
from drumline.sdk.locate import ServerLocation
from drumline.sdk.notebook import html_of
from drumline.sdk.transport import TaskInfo
from tests.sdk.hand_worker import HandWorker


def plus(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def add(app: Drumline[None]) -> Task[[int, int], int]:
    return app.task(name="add")(plus)


@pytest.fixture
def ada(house: EmbeddedTransport) -> HandWorker:
    return HandWorker(house, "add")


def test_the_address_of_a_task_is_its_page_in_the_interface(app: Drumline[None], add: Task[[int, int], int]) -> None:
    handle = add.submit(1, 2)

    if isinstance(app.client.transport, HttpTransport):
        assert handle.url.endswith(f"/ui/tasks/{handle.id}")
    else:
        assert handle.url.startswith("file://")
        assert handle.url.endswith(handle.id)


def test_attempts_tell_how_each_execution_ended(add: Task[[int, int], int], ada: HandWorker) -> None:
    handle = add.submit(1, 2)
    before = handle.attempts()
    ada.settle(ada.claim(), Failed(ErrorInfo("ValueError", "odd"), permanent=True))
    handle.retry()
    ada.succeed(b"3")

    first, second = handle.attempts()

    assert before == ()
    assert (first.outcome, first.error and first.error.message) == ("failed", "odd")
    assert (second.outcome, second.error) == ("completed", None)
    assert first.started_at is not None
    assert second.finished_at is not None
    assert first.started_at <= second.finished_at


async def test_attempts_have_an_async_form(add: Task[[int, int], int]) -> None:
    assert await (await add.asubmit(1, 2)).aattempts() == ()


def test_a_tuple_of_calls_gives_a_tuple_and_a_list_a_list(app: Drumline[None], add: Task[[int, int], int]) -> None:
    one, two = app.submit_many((add.call(1, 2), add.call(3, 4)))
    listed = app.submit_many([add.call(1, 2)])

    assert not isinstance(one, DrumlineError)
    assert not isinstance(two, DrumlineError)
    assert one.id != two.id
    assert isinstance(listed, list)


def test_a_notebook_shows_state_and_result(add: Task[[int, int], int], ada: HandWorker) -> None:
    handle = add.submit(1, 2)
    waiting = handle._repr_mimebundle_()
    ada.succeed(b"3")
    done = handle._repr_mimebundle_(include=None, exclude=None)

    assert "QUEUED" in waiting["text/plain"]
    assert "COMPLETED" in done["text/html"]
    assert "attempt 1 of 4" in done["text/html"]
    assert handle.id in done["text/html"]


def test_a_notebook_is_told_why_a_task_cannot_be_looked_at(app: Drumline[None]) -> None:
    shown = app.handle("01890a5d-ac96-774b-bcce-b302099a8057")._repr_mimebundle_()

    assert "there is no task" in shown["text/plain"]
    assert "there is no task" in shown["text/html"]


async def test_a_notebook_does_not_wait_for_the_loop_that_it_blocks(tmp_path: object) -> None:
    async with opened_here(ServerLocation(data=tmp_path)) as transport:  # type: ignore[arg-type]
        app = Drumline("here")
        app.use(transport)
        handle = await app.asubmit_task("add")

        assert "ainfo" in handle._repr_mimebundle_()["text/plain"]


def test_texts_of_a_task_are_escaped_and_progress_is_a_bar() -> None:
    info = TaskInfo(
        id=TaskId("01890a5d-ac96-774b-bcce-b302099a8057"),
        name="<b>",
        queue="q",
        status=Status.PROCESSING,
        progress=Progress(3, 10, "<i>"),
        error=ErrorInfo("<u>", "<script>"),
    )

    html = html_of(info, 'http://x/"onload="')

    assert '<progress value="3" max="10"></progress> 3/10 &lt;i&gt;' in html
    assert not any(tag in html for tag in ("<b>", "<i>", "<u>", "<script>", '"onload='))
