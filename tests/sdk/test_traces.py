"""Tasks belong to the trace of the call that submitted them, however the calls travel."""

import asyncio
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider

from drumline import Drumline, TaskHandle
from drumline.core.ids import TaskId
from drumline.core.trace import ids_of
from drumline.engine.engine import Engine
from drumline.observe.tracing import OpenTracer
from drumline.sdk.embedded import EmbeddedTransport
from drumline.sdk.http import HttpTransport
from tests.sdk.conftest import KEY, served

SPANS = TracerProvider(shutdown_on_exit=False).get_tracer("a program")


@pytest.fixture(params=["embedded", "http"])
def app(request: pytest.FixtureRequest, house: EmbeddedTransport) -> Iterator[Drumline[None]]:
    """An app that submits to an engine that traces; its own spans go nowhere."""
    assert isinstance(house.engine, Engine)
    tracer = OpenTracer("http://127.0.0.1:9/v1/traces", role="api", sample=0.0)
    house.engine.tracer = house.engine.submissions._tracer = house.engine.jobs.submissions._tracer = tracer
    app = Drumline("traced")
    if request.param == "embedded":
        app.use(house)
        yield app
    else:
        with served(house) as port:
            app.use(HttpTransport(f"http://127.0.0.1:{port}", api_key=KEY))
            yield app
            app.close()
    tracer.close()


async def trace_of(house: EmbeddedTransport, task: TaskId) -> str | None:
    assert isinstance(house.engine, Engine)
    view = await asyncio.wrap_future(house.thread.start(house.engine.queries.get(task, tenant="default")))
    return None if view.options.trace is None else ids_of(view.options.trace)[0]


async def submitted(app: Drumline[None], number: int) -> tuple[str, TaskHandle[object]]:
    """Submit inside a span of its own; gives the trace's id and the handle."""
    with SPANS.start_as_current_span(f"caller {number}") as span:
        await asyncio.sleep(0)
        handle = await app.asubmit_task("work", {"number": number})
        return f"{span.get_span_context().trace_id:032x}", handle


async def test_each_of_many_concurrent_callers_submits_into_its_own_trace(
    app: Drumline[None], house: EmbeddedTransport
) -> None:
    pairs = await asyncio.gather(*(submitted(app, number) for number in range(12)))

    assert len({trace for trace, _ in pairs}) == 12
    assert [await trace_of(house, handle.id) for _, handle in pairs] == [trace for trace, _ in pairs]


async def test_calls_of_one_trace_and_calls_of_none_keep_apart(app: Drumline[None], house: EmbeddedTransport) -> None:
    with SPANS.start_as_current_span("caller") as span:
        inside = [asyncio.ensure_future(app.asubmit_task("work", {"number": number})) for number in range(3)]
    outside = [asyncio.ensure_future(app.asubmit_task("work", {"number": number})) for number in range(3)]
    handles = await asyncio.gather(*inside, *outside)

    traces = [await trace_of(house, handle.id) for handle in handles]
    own = f"{span.get_span_context().trace_id:032x}"
    assert traces[:3] == [own] * 3
    assert own not in traces[3:]


async def test_lists_jobs_and_blocking_calls_submit_into_the_trace_of_their_caller(
    app: Drumline[None], house: EmbeddedTransport
) -> None:
    @app.task
    def add(a: int, b: int) -> int:
        return a + b

    with SPANS.start_as_current_span("caller") as span:
        many = await app.asubmit_many([add.call(1, 2), add.call(3, 4)])
        blocking = await asyncio.to_thread(add.submit, 5, 6)
        with app.dag("job") as dag:
            dag.add(add, 1, 2)
        job = await dag.asubmit()

    own = f"{span.get_span_context().trace_id:032x}"
    ids = [handle.id for handle in (*many, blocking) if isinstance(handle, TaskHandle)]
    ids.append((await job.atask("add")).id)
    assert len(ids) == 4
    assert [await trace_of(house, task) for task in ids] == [own] * len(ids)
