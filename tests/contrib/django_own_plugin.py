"""A plugin for pytest under which Django's own tests of its Tasks framework run against Drumline.

Where the tests name Django's dummy backend they get `StoredBackend`, which submits and has no worker. Where they name
the immediate backend they get `WorkedBackend`, whose tasks a worker in this process runs before `enqueue` returns.
"""

import importlib
import inspect
import tempfile
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import markcoroutinefunction, sync_to_async

if not hasattr(inspect, "markcoroutinefunction"):  # Django 6 is for Python 3.12; nothing else of it is missed in 3.11
    inspect.markcoroutinefunction = markcoroutinefunction  # type: ignore[attr-defined]

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="for tests only",
    USE_TZ=True,
    LOGGING_CONFIG=None,
    INSTALLED_APPS=["drumline.contrib.django"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()

from drumline import TaskCancelled, TaskFailed  # noqa: E402 - Django has to be set up first
from drumline.contrib.django.backend import DrumlineBackend  # noqa: E402
from tests.contrib.django_skips import skips  # noqa: E402

SECONDS = 30
_FOLDER = tempfile.TemporaryDirectory(prefix="drumline-django-")


class StoredBackend(DrumlineBackend):
    """Drumline with an empty store, as the tests of the dummy backend expect it."""

    def __init__(self, alias: str, params: Any) -> None:
        super().__init__(alias, params)
        self.results: list[Any] = []
        self.data = ""

    def clear(self) -> None:
        """Begin with an empty store."""
        self.results.clear()
        self.data = tempfile.mkdtemp(dir=_FOLDER.name)
        self.__dict__.pop("app", None)

    @property
    def app_options(self) -> dict[str, Any]:
        """The store of this backend, which the tests do not name."""
        if not self.data:
            self.clear()
        return {"data": self.data}

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Submit, and remember the result."""
        result = super().enqueue(task, args, kwargs)
        self.results.append(result)
        return result


class WorkedBackend(StoredBackend):
    """Drumline with a worker in this process, which has run a task when `enqueue` returns."""

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Submit, and wait for the end."""
        result = super().enqueue(task, args, kwargs)
        with self.app.running(), suppress(TaskFailed, TaskCancelled):
            self.handle(result).result(timeout=SECONDS)
        result.refresh()
        return result

    async def aenqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Submit, and wait in a thread other than the one that async tasks run their signals in."""
        return await sync_to_async(self.enqueue, thread_sensitive=False)(task, args, kwargs)


importlib.import_module("django.tasks.backends.dummy").DummyBackend = StoredBackend  # type: ignore[attr-defined]
importlib.import_module("django.tasks.backends.immediate").ImmediateBackend = WorkedBackend  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is listed, with its reason."""
    reasons = skips()
    for item in items:
        reason = reasons.get("::".join(item.nodeid.split("::")[1:]))
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))
