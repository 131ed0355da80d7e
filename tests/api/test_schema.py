"""What the OpenAPI document promises, held against a real server by schemathesis."""

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection, positive_data_acceptance

from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.openapi import document
from drumline.api.operation import Info
from drumline.api.routes import OPERATIONS
from drumline.api.server import Server
from drumline.core.limits import DEFAULT_LIMITS
from drumline.engine.engine import Engine
from drumline.observe.exposition import Exposition
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.api.conftest import KEY
from tests.api.neighbours import UNLIMITED

INFO = Info(version="1", longest_wait=0.01, longest_stream=0.01)
MOST = 50 if os.environ.get("DRUMLINE_TEST_EXPLORE") else 5
"""Requests by chance for each operation, besides the seventy or so that lie at the bounds of what it takes."""

SEPARATE = {
    "/api/v1/tasks/batch", "/api/v1/worker/sessions/{session}/settle", "/api/v1/worker/sessions/{session}/records",
}  # fmt: skip
"""Here each item is judged on its own: a bad one gets its problem inside a good answer."""
UNSAYABLE = (
    "must be a whole number",  # JSON Schema takes 1.0 for an integer
    "is outside the years",
    "must be more than zero",  # nor can a pattern tell "0s" from "1s" and stay readable
    "cannot be given together with follow",  # OpenAPI cannot relate parameters
    "differs from the idempotency_key in the body",
    "must be in the future",
    "make the tenant",  # whether there is one is not the document's to know
    "must be a permission of its role",
    "idempotency_key_reused",
    "must name something",  # what a filter must have depends on what else is asked for
    "does not narrow",
    "is for cancel only",
    "is for reschedule only",
    "must have run_at, delay or priority",
    "cannot be given together with run_at",
    "has an address in it that is written unusually",  # which hosts are numbers, and which ports there are
    "must have a port from 1 to 65535",
    "is the task itself",  # how the tasks of a job hang together
    "there is no task",
    "form a cycle",
    "has nothing that could fail",
    "does not begin with one of the task's needs",
    "there is no job",
    'cron"',  # languages of their own
    'timezone"',
    "must be at least 1 second",
    "must be at most a day",
    "is before start",
    "is in the past",
    "is in the future",
    "never fires",
    "is not for a schedule's",
    "fire times; at most",
    "must be one of modules",
    "must not contain NUL",  # a pattern for that would make every example slow
    "which is not there",  # whether there is a secret of that name
    "has no key to seal secrets with",
    "is there twice",
    "must be the next_cursor of the page before",
    "give a text to search for, or a level",
    "must be label:value",  # a figure's labels are its own
    "is for late_schedule only",  # which fields and values go with the measure of an alert, or with an objective
    "is for burn_rate only",
    "is for `start` only",
    "is not for ",
    "must be the id of an objective",
    "there is no such objective",
    "must be less than the window",
    "must be from 1m to",
    "must be from 1h to",
    "must be a share from 0 to below 1",
    "must be a number from 0 to",
    "must be at most 24h",
    "must be seconds, or a text",
    "must be one of 0.001s",
    "must be the time in which tasks have to start",
    "must set or unset something",
    "is not set",  # nor what is set now
    "this process does not know the setting",
    "cannot be given together with idempotency_key",  # what does not go together with a collapse rule
    "decides when the task is due",
    "goes with debounce",
    "must be at least as long as debounce",
    "must be from 0.001 s to 366 days",
    "is used without other filters",
    "at character ",  # the terms of a filter are a language of their own
    "must say until when it is ignored",
    "is for the state `ignored` only",
    "give a state, a note or an owner",
    "must be at most 100 with `trend`",
)
"""Reasons for refusing what the document allows."""

# Streams are cut off soon; what they say is looked at in test_events.py.
DOCUMENT = document(OPERATIONS, info=INFO, limits=DEFAULT_LIMITS)
LABELS = [f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods]
schema = schemathesis.openapi.from_dict(DOCUMENT)
# What is longer than it may be can be longer than a request may be, too.
refused = schema.config.checks.negative_data_rejection.expected_statuses
schema.config.checks.negative_data_rejection.expected_statuses = [*refused, "413"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve on a loop of its own thread: schemathesis calls from this one and waits."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="server")
    thread.start()
    folder = tmp_path_factory.mktemp("schema")
    stop = StopEvent()

    async def start() -> tuple[Engine, Server, "asyncio.Task[None]"]:
        engine = Engine(await SqliteStore.open(folder / "drumline.db"), NoQueue())
        write = Exposition(engine.metrics, role="api").write
        engine.access.use_policy(UNLIMITED)  # it asks without a key more often than an address may
        app = create_app(engine, keys=ConfiguredKeys([KEY]), info=INFO, stop=stop, write_metrics=write)
        server = Server(app, port=0)
        return engine, server, asyncio.create_task(server.run(stop))

    async def end() -> None:
        stop.set()
        await serving
        await engine.close()

    engine, server, serving = asyncio.run_coroutine_threadsafe(start(), loop).result(60)
    yield f"http://127.0.0.1:{server.port}"
    asyncio.run_coroutine_threadsafe(end(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.parametrize("label", LABELS)
def test_the_server_keeps_what_its_schema_promises(label: str, address: str) -> None:
    # Not by `schema.parametrize()`: that thinks up every request of every operation before the first test, in each of
    # the processes that share the tests.
    operation = schema.find_operation_by_label(label)
    assert operation is not None
    config = HypothesisTestConfig(project=schema.config, modes=list(HypothesisTestMode))
    create_test(operation=operation, test_func=check, config=config)(address=address)


@settings(max_examples=MOST, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def check(case: schemathesis.Case[Any], address: str) -> None:
    """Make one request, and hold its answer against the document."""
    separate = [negative_data_rejection] if case.operation.path in SEPARATE else []

    reply = case.call_and_validate(
        base_url=address,
        headers={"X-API-Key": KEY},
        # Requests without a key, or with a wrong one, are made once for each operation: see test_matrix.py.
        excluded_checks=[positive_data_acceptance, ignored_auth, *separate],
    )

    is_good = case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE
    if is_good and reply.status_code in {400, 422}:
        assert any(reason in reply.text for reason in UNSAYABLE), reply.text
