"""Lets Celery's own tests find `drumline.compat.celery` under the name `celery`, and nothing of Celery itself.

What these tests import of Celery's inside and Drumline has no counterpart to is an `Absent`: it can be imported, and
a test that uses it fails. Such tests are listed in `celery_skips.toml`.
"""

import sys
from types import ModuleType
from typing import Any, NoReturn

import drumline.compat.celery as bridge
from drumline.compat.celery import app as app_module
from drumline.compat.celery import canvas, exceptions, result, schedules, signals, states
from drumline.compat.celery.utils import log


class Absent:
    """Something of Celery that Drumline has no counterpart to."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> Any:
        return lambda function: function

    def __getattr__(self, name: str) -> NoReturn:
        raise NotImplementedError(f"Drumline has no counterpart to this: {name}")


class StampingVisitor:
    """A base class that tests derive from; stamping itself is refused."""


class NeverRaised(Exception):
    """An exception of Celery's inside that is never raised here."""


class Backend:
    """What tests ask of the result backend: only that chords are allowed."""

    def ensure_chords_allowed(self) -> None:
        """Allow them."""

    def __getattr__(self, name: str) -> NoReturn:
        raise NotImplementedError(f"Drumline has no result backend: {name}")


class Queues:
    """The queues that the fixtures of the tests look at."""

    queues = frozenset({"celery"})


class TestApp(app_module.Celery):
    """The app of the tests."""

    __test__ = False
    amqp = Queues()
    backend = Backend()


def install() -> None:
    """Make the names importable."""
    absent = Absent()
    names: dict[str, dict[str, Any]] = {
        "celery": {**{name: getattr(bridge, name) for name in bridge.__all__}, "states": states},
        "celery.app": {"trace": absent},
        "celery.app.trace": {},
        "celery.canvas": {**vars(canvas), "StampingVisitor": StampingVisitor},
        "celery.exceptions": vars(exceptions),
        "celery.result": vars(result),
        "celery.signals": vars(signals),
        "celery.states": vars(states),
        "celery.schedules": vars(schedules),
        "celery.backends": {},
        "celery.backends.base": {"BaseKeyValueStoreBackend": Absent, "states": states},
        "celery.utils": {},
        "celery.utils.log": vars(log),
        "celery.utils.serialization": {"UnpickleableExceptionWrapper": NeverRaised},
        "celery.worker": {"state": absent},
        "celery.worker.control": {
            "add_consumer": absent, "cancel_consumer": absent, "control_command": absent, "inspect_command": absent,
        },
        "billiard": {},
    }  # fmt: skip
    for name, members in names.items():
        module = ModuleType(name)
        module.__dict__.update({key: value for key, value in members.items() if not key.startswith("__")})
        sys.modules[name] = module
    for name in names:
        parent, _, child = name.rpartition(".")
        if parent and not hasattr(sys.modules[parent], child):
            setattr(sys.modules[parent], child, sys.modules[name])
