"""The pytest plugin: the fixture `world`, and async tests that use it on the world's own event loop.

pytest loads this module in every run, so it imports nothing but what the standard library and pytest have.
"""

import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

if TYPE_CHECKING:
    from drumline.sdk.app import Drumline
    from drumline.testing.world import World

OPTION = "drumline_app"
HINT = (
    'say which app is tested: `drumline_app = "shop.tasks:app"` in the section [tool.pytest.ini_options] of '
    "pyproject.toml, or a fixture `drumline_app` that returns it"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting that names the app."""
    parser.addini(OPTION, "the app that the fixture `world` runs, such as shop.tasks:app", default="")


@pytest.fixture
def drumline_app(request: pytest.FixtureRequest) -> "Drumline[Any]":
    """Return the app that is tested, as the setting `drumline_app` names it."""
    named = str(request.config.getini(OPTION))
    if not named:
        raise pytest.UsageError(HINT)
    from drumline.lifecycle.apps import load_apps  # noqa: PLC0415 - only for those who use it

    found = load_apps([named])
    if len(found) > 1:
        raise pytest.UsageError(f"{named} has several apps: name one, as in {named}:app")
    return found[0]


@pytest.fixture
def world(drumline_app: "Drumline[Any]") -> "Iterator[World]":
    """Run the app in a world of its own for the time of the test."""
    from drumline.testing.simulated import simulated  # noqa: PLC0415 - only for those who use it

    with simulated(drumline_app) as opened:
        yield opened


@pytest.fixture
def eager_world(drumline_app: "Drumline[Any]") -> "Iterator[World]":
    """Run the app in an eager world for the time of the test: a submission returns when the task has ended."""
    from drumline.testing.simulated import simulated  # noqa: PLC0415 - only for those who use it

    with simulated(drumline_app, eager=True) as opened:
        yield opened


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """Run an async test that uses a world on the world's event loop."""
    used = next(
        (pyfuncitem.funcargs.get(name) for name in ("world", "eager_world") if name in pyfuncitem.funcargs), None
    )
    function = _coroutine_function(pyfuncitem.obj)
    if used is None or function is None or not _is_world(used):
        return None
    names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001 - as pytest itself calls tests
    used.run(function(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def _coroutine_function(function: Any) -> Any:
    """Return an async test; other plugins may have wrapped it in a function that runs it on a loop of theirs."""
    if inspect.iscoroutinefunction(function):
        return function
    inner = inspect.unwrap(function)
    if not inspect.iscoroutinefunction(inner):
        return None
    bound_to = getattr(function, "__self__", None)
    return inner if bound_to is None else inner.__get__(bound_to)


def _is_world(value: object) -> "TypeGuard[World]":
    loaded = sys.modules.get("drumline.testing.world")
    return loaded is not None and isinstance(value, loaded.World)
