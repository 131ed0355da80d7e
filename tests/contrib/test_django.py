"""The backend of Django's Tasks framework."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest

from drumline import NotFound, Status, TaskFailed
from scripts.programs import ROOT

SECONDS = 30

pytest.importorskip("django")


def ended(backend: Any, result: Any) -> Any:
    """Return a result once its task has ended."""
    with suppress(TaskFailed):  # how it ended is in the result
        backend.handle(result).result(timeout=SECONDS)
    result.refresh()
    return result


def test_a_task_is_enqueued_and_gives_its_result(working: Any) -> None:
    from tests.contrib.django_site.tasks import add

    result = ended(working, add.enqueue(1, y=2))

    assert (result.status, result.return_value, result.args, result.kwargs) == ("SUCCESSFUL", 3, [1], {"y": 2})
    assert result.attempts == 1
    assert add.get_result(result.id).return_value == 3


def test_async_tasks_and_tasks_with_a_context_run(working: Any) -> None:
    from tests.contrib.django_site.tasks import later, whoami

    result = ended(working, whoami.enqueue("x"))

    assert result.return_value == [result.id, 1, "x"]
    assert ended(working, later.enqueue(4)).return_value == 8


def test_a_task_is_enqueued_from_async_code(working: Any) -> None:
    from tests.contrib.django_site.tasks import add

    async def enqueue() -> Any:
        return await add.aenqueue(2, 3)

    assert ended(working, asyncio.run(enqueue())).return_value == 5


def test_an_error_fails_the_task_at_once_with_its_class(working: Any) -> None:
    from tests.contrib.django_site.tasks import fail

    result = ended(working, fail.enqueue())

    assert (result.status, result.attempts) == ("FAILED", 1)
    assert result.errors[0].exception_class is LookupError
    assert "broken" in result.errors[0].traceback


def test_priority_queue_and_run_after_are_drumline_s(site: Any) -> None:
    from django.utils import timezone

    from tests.contrib.django_site.tasks import send

    when = timezone.now().replace(microsecond=0) + timedelta(hours=1)
    result = send.using(run_after=when).enqueue("ada")
    info = site.handle(result).info()

    assert (info.queue, info.priority, info.due_at, info.status) == ("mail", 10, when, Status.PENDING)
    assert result.status == "READY"


def test_inside_a_transaction_a_task_is_submitted_when_it_commits(site: Any) -> None:
    from django.db import transaction

    from tests.contrib.django_site.tasks import add

    with transaction.atomic():
        result = add.enqueue(1)
        assert result.id == ""

    assert site.handle(result).info().status is Status.QUEUED


def test_a_rolled_back_transaction_submits_nothing(site: Any) -> None:
    from django.db import transaction

    from tests.contrib.django_site.tasks import add

    with pytest.raises(RuntimeError), transaction.atomic():  # noqa: PT012 - the block is the transaction
        result = add.enqueue(1)
        raise RuntimeError

    assert result.id == ""


def test_a_task_is_written_in_the_transaction_itself_where_its_database_is_the_store(site: Any) -> None:
    from django.db import transaction

    from tests.contrib.django_site.tasks import add

    site.app.handle(add.enqueue(1).id).info()  # so that the store exists
    task = add.using(backend="same")
    with transaction.atomic(using="store"):
        kept = task.enqueue(1)
    with pytest.raises(RuntimeError), transaction.atomic(using="store"):  # noqa: PT012 - the block is the transaction
        dropped = task.enqueue(2)
        raise RuntimeError

    assert site.handle(kept).info().status is Status.QUEUED
    with pytest.raises(NotFound):
        site.handle(dropped).info()


def test_signals_of_the_framework_are_sent(working: Any) -> None:
    from drumline.contrib.django.framework import task_enqueued, task_finished, task_started
    from tests.contrib.django_site.tasks import add

    seen: list[tuple[str, str]] = []

    def noting(word: str) -> Callable[..., None]:
        return lambda task_result, **_: seen.append((task_result.id, f"{word} {task_result.status}"))

    receivers = {
        task_enqueued: noting("enqueued"), task_started: noting("started"), task_finished: noting("finished"),
    }  # fmt: skip
    for signal, receiver in receivers.items():
        signal.connect(receiver)
    try:
        result = ended(working, add.enqueue(1))
    finally:
        for signal, receiver in receivers.items():
            signal.disconnect(receiver)

    words = sorted(word for task, word in seen if task == result.id)
    assert words == ["enqueued READY", "finished SUCCESSFUL", "started RUNNING"]


def test_all_threads_share_one_connection(site: Any) -> None:
    from drumline.contrib.django.framework import backends

    with ThreadPoolExecutor(2) as pool:
        others = list(pool.map(lambda _: backends()["default"], range(2)))

    assert all(other is not site and other.app is site.app for other in others)


def test_a_result_that_is_not_there_is_not_found(site: Any) -> None:
    from importlib import import_module

    from drumline.contrib.django.framework import NAME
    from tests.contrib.django_site.tasks import add

    missing = import_module(f"{NAME}.exceptions").TaskResultDoesNotExist
    for wrong in ("01890000-0000-7000-8000-000000000000", "nonsense"):
        with pytest.raises(missing):
            add.get_result(wrong)


def test_an_option_that_does_not_exist_is_named(site: Any) -> None:
    from django.core.exceptions import ImproperlyConfigured

    with pytest.raises(ImproperlyConfigured, match="adress"):
        type(site)("other", {"OPTIONS": {"adress": "x"}})
    with pytest.raises(ImproperlyConfigured, match="must be one of on_commit, same, ignored, not 'later'"):
        type(site)("other", {"OPTIONS": {"transaction": "later"}})


def test_the_admin_has_a_page_that_links_to_the_interface(site: Any) -> None:
    from django.contrib.auth import get_user_model
    from django.test import Client

    user, _ = get_user_model().objects.get_or_create(username="ada", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(user)

    page = client.get("/admin/drumline/interface/")

    assert page.status_code == 200
    assert "https://drumline.example/ui/" in page.text
    assert "tests.contrib.django_site.tasks.add" in page.text
    assert "drumline" in client.get("/admin/").text


def test_no_migration_is_missing(site: Any) -> None:
    from django.core.management import call_command

    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


@pytest.mark.faults
def test_the_worker_command_runs_the_tasks_of_the_project(site: Any) -> None:
    from tests.contrib.django_site.tasks import add

    result = add.enqueue(20, 22)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "django", "drumline_worker", "--queue", "default", "--concurrency", "2"]
    worker = subprocess.Popen(words, env=environment, cwd=ROOT)
    try:
        assert ended(site, result).return_value == 42
    finally:
        worker.terminate()
        worker.wait(SECONDS)


def test_a_backend_of_another_kind_has_no_worker(site: Any) -> None:
    from django.core.management import CommandError, call_command
    from django.test import override_settings

    from drumline.contrib.django.framework import NAME

    with (
        override_settings(TASKS={"default": {"BACKEND": f"{NAME}.backends.immediate.ImmediateBackend"}}),
        pytest.raises(CommandError, match="not a backend of Drumline"),
    ):
        call_command("drumline_worker")


def test_the_worker_names_the_backends_that_need_other_workers(site: Any) -> None:
    from django.core.management import CommandError, call_command
    from django.test import override_settings

    entry = {"BACKEND": "drumline.contrib.django.backend.DrumlineBackend", "OPTIONS": {"url": "nowhere"}}
    told = StringIO()

    with (
        override_settings(TASKS={"default": entry, "reports": entry}),
        pytest.raises(CommandError, match="url: must start with http"),
    ):
        call_command("drumline_worker", stderr=told)

    assert "runs the tasks of TASKS['default']; start others for: --backend reports" in told.getvalue()
