"""A plugin for pytest under which Celery's own tests run against Drumline.

It gives the fixtures that Celery's plugin would, skips what `celery_skips.toml` lists, and writes how each test ended
to the file that DRUMLINE_CELERY_RESULTS names.
"""

import asyncio
import json
import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.clock import SystemClock
from drumline.engine.gateway import gateway_of
from drumline.lifecycle.worker_setup import assemble_worker, built_in_kinds, worker_options
from drumline.scheduler.duty import Rounds
from drumline.scheduler.expire import Expirer
from drumline.scheduler.reap import Reaper
from drumline.sdk.embedded import EmbeddedTransport, open_embedded
from drumline.sdk.locate import locate
from drumline.settings import Settings
from tests.compat import celery_names

SKIPS = Path(__file__).parent / "celery_skips.toml"
AT_ONCE = 4
"""Tasks that the worker runs at once: tests fill it with four that sleep."""
IDLE_SECONDS = 0.2

celery_names.install()


class Inspect:
    """What tests ask of running workers."""

    def ping(self) -> dict[str, Any]:
        """Answer for the worker."""
        return {"drumline": {"ok": "pong"}}


class Manager:
    """What Celery calls a manager: helpers of its tests."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def wait_until_idle(self) -> None:
        """Let what is left run on: it is in the way of no other test."""
        time.sleep(IDLE_SECONDS)

    def inspect(self) -> Inspect:
        """Return what asks the workers."""
        return Inspect()

    def join(self, result: Any, **options: Any) -> Any:
        """Wait for a result."""
        options.pop("propagate", None)
        return result.get(**options)

    def wait_for(self, check: Callable[[], Any], *, catch: tuple[type[Exception], ...], **_: Any) -> Any:
        """Call until it does not raise."""
        deadline = time.monotonic() + 10
        while True:
            try:
                return check()
            except catch:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


@pytest.fixture(scope="session")
def celery_session_app(celery_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The app of all tests."""
    data = tmp_path_factory.mktemp("drumline")
    app = celery_names.TestApp("tests", drumline_data=str(data), drumline_folder=data, **celery_config)
    app.task(name="celery.accumulate")(lambda *args, **_: list(args))
    yield app
    app.close()


@pytest.fixture(scope="session")
def celery_session_worker(
    celery_session_app: Any, celery_includes: set[str], celery_class_tasks: list[Any]
) -> Iterator[Any]:
    """A worker with room for four tasks, in this process: tests connect to signals."""
    app = celery_session_app
    for name in celery_includes:
        __import__(name)
    for task in celery_class_tasks:
        app.register_task(task)
    transport = open_embedded(locate(data=app.conf.drumline_folder))
    served = app.__drumline_app__
    served.use(transport)
    stop = asyncio.Event()
    working = transport.thread.start(_work(served, transport, stop))
    try:
        yield working
    finally:
        transport.thread.loop.call_soon_threadsafe(stop.set)
        working.result(60)
        transport.close()


async def _work(app: Any, transport: EmbeddedTransport, stop: asyncio.Event) -> None:
    engine: Any = transport.engine
    settings = replace(Settings(), worker=replace(Settings().worker, concurrency=AT_ONCE))
    kinds = built_in_kinds(settings, is_embedded=True)
    worker = assemble_worker(gateway_of(engine), [app], worker_options(settings), kinds, engine.metrics)
    async with asyncio.TaskGroup() as group:
        for duty in (Reaper(engine, clock=SystemClock(), poison_after=settings.poison_after), Expirer(engine)):
            group.create_task(Rounds(duty).run(stop), name=duty.name)
        await worker.run(stop)


@pytest.fixture
def celery_app(celery_session_app: Any) -> Any:
    """The same app: it has no state that a test would need for itself."""
    return celery_session_app


def _module(name: str, **members: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


_module("celery.contrib")
_module(
    "celery.contrib.pytest",
    celery_app=celery_app,
    celery_session_app=celery_session_app,
    celery_session_worker=celery_session_worker,
)
_module("celery.contrib.testing")
_module("celery.contrib.testing.manager", Manager=Manager)

_OUTCOMES: dict[str, dict[str, str]] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks that these tests use."""
    config.addinivalue_line("markers", "flaky(reruns, reruns_delay, cause): not repeated here")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is listed, with its reason."""
    reasons = skips()
    for item in items:
        reason = reasons.get(name_of(item.nodeid)) or reasons.get(name_of(item.nodeid).partition("[")[0])
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"Drumline: {reason}"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how a test ended."""
    name = name_of(report.nodeid)
    known = _OUTCOMES.get(name)
    if report.when == "call" or report.outcome != "passed":
        if known is not None and known["outcome"] == "failed":
            return
        reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        _OUTCOMES[name] = {"outcome": outcome, "reason": reason.removeprefix("Skipped: ")}


def pytest_sessionfinish() -> None:
    """Write how the tests ended."""
    target = os.environ.get("DRUMLINE_CELERY_RESULTS")
    if target:
        Path(target).write_text(json.dumps(_OUTCOMES, indent=1, sort_keys=True), encoding="utf-8")


def name_of(nodeid: str) -> str:
    """Return a test as file, class and function."""
    return nodeid.rpartition("/")[2]


def skips() -> dict[str, str]:
    """Return the tests that are skipped, with the reason of each."""
    table = tomllib.loads(SKIPS.read_text(encoding="utf-8"))
    return {test: entry["reason"] for entry in table["skip"] for test in entry["tests"]}
