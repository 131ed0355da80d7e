"""Secrets in attempts: there when the code runs, and nowhere else."""

import logging
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from drumline.core.errors import Invalid
from drumline.core.limits import Limits
from drumline.core.state import State
from drumline.sdk.context import Context, inject
from drumline.stores.sealing import AesBox
from drumline.worker.executors.catalogue import BuiltIn
from tests.harness.parts import use_box
from tests.worker.house import House

VALUE = 'hunter2 "of" ünits/+&='
TOKEN: Mapping[str, Any] = {"token": {"$secret": "api"}}


@pytest.fixture(autouse=True)
async def _key(house: House) -> None:
    use_box(house.engine, AesBox([b"k" * 32]))
    await house.engine.secrets.put("api", VALUE, tenant="default")


async def test_a_task_gets_the_value_and_the_store_only_the_reference(house: House) -> None:
    seen = []

    @house.app.task(name="charge")
    async def charge(token: str, nested: dict[str, list[str]]) -> None:
        seen.append((token, nested))

    wish = {**TOKEN, "nested": {"all": ["a", {"$secret": "api", "format": "Bearer {}"}]}}
    async with house.worker():
        view = await house.run("charge", wish)

    assert seen == [(VALUE, {"all": ["a", f"Bearer {VALUE}"]})]
    assert view.state is State.COMPLETED
    assert b"hunter2" not in bytes(view.payload or b"")


@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_whatever_a_task_says_is_masked(
    house: House, kind: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def leak(token: str, context: Context[Any]) -> dict[str, Any]:
        sys.stdout.write(f"printed {token}\nhalf {token[:9]}")
        sys.stdout.write(token[9:] + "\n")
        logging.getLogger("shop").warning("logged %s", token)
        context.progress(1, 2, f"at {token}")
        return {token: [token, f"x{token}y"], "plain": 1}

    if kind == "async":

        @house.app.task(name="leak")
        async def leaking(token: str, *, context: Context[Any] = inject()) -> dict[str, Any]:
            return leak(token, context)

    else:

        @house.app.task(name="leak")
        def leaking_in_a_thread(token: str, *, context: Context[Any] = inject()) -> dict[str, Any]:
            return leak(token, context)

    async with house.worker(progress_every=0.01):
        view = await house.run("leak", dict(TOKEN))
        log = await house.log(view.id)

    assert view.state is State.COMPLETED, view.error
    assert bytes(view.result or b"") == b'{"***":["***","x***y"],"plain":1}'
    assert "printed ***\n" in log
    assert "half ***\n" in log
    assert "logged ***" in log
    said = "".join(capfd.readouterr())
    everything = [log, said, caplog.text, str(house.line.told), str(house.line.settled)]
    assert not [text for text in everything if "hunter2" in text]


async def test_errors_are_masked_with_their_tracebacks(house: House) -> None:
    @house.app.task(name="fail")
    async def fail(token: str) -> None:
        try:
            dict[str, str]()[token]
        except KeyError as error:
            raise ValueError(f"401 for {token}") from error

    async with house.worker():
        view = await house.run("fail", dict(TOKEN), retries=0)

    assert view.error is not None
    assert view.error.message == "401 for ***"
    assert "ValueError: 401 for ***" in view.error.traceback
    assert "hunter2" not in view.error.traceback


async def test_a_child_process_gets_the_value_and_its_output_is_masked(house: House) -> None:
    async with house.worker(BuiltIn(shell=True, http=False, pdf=False)):
        done = await house.run(
            "shell", {"command": ["/bin/sh", "-c", "echo $T; echo $T >&2"], "env": {"T": {"$secret": "api"}}}
        )
        failed = await house.try_once(
            "shell", {"command": ["/bin/sh", "-c", "echo $T >&2; exit 3"], "env": {"T": {"$secret": "api"}}}
        )
        log = await house.log(done.id)

    assert b'"stdout":"***\\n"' in bytes(done.result or b"")
    assert log == "***\n***\n"
    assert failed.error is not None
    assert failed.error.message == "exit code 3\n***"
    assert "T" not in os.environ


async def test_a_secret_that_is_not_there_is_refused_when_the_task_comes_in(house: House) -> None:
    with pytest.raises(Invalid) as refused:
        await house.submit("charge", {"a": [{"$secret": "nope"}]})

    assert refused.value.field == "payload.a[0]"
    assert "nope" in refused.value.message


async def test_a_secret_that_was_deleted_meanwhile_fails_the_task_for_good(house: House) -> None:
    ran = []

    @house.app.task(name="charge")
    async def charge(token: str) -> None:
        ran.append(token)

    task = await house.submit("charge", dict(TOKEN))
    await house.engine.secrets.delete("api", tenant="default")
    async with house.worker():
        view = await house.ended(task)

    assert (view.state, ran) == (State.FAILED, [])
    assert view.error is not None
    assert (view.error.kind, view.error.message) == ("SecretNotFound", "there is no secret api any more")


async def test_a_secret_whose_key_is_away_is_tried_again(house: House) -> None:
    @house.app.task(name="charge")
    async def charge(token: str) -> int:
        return len(token)

    box = house.engine.secrets.box
    house.engine.secrets.box = AesBox([b"w" * 32])
    async with house.worker():
        view = await house.try_once("charge", dict(TOKEN))
        house.engine.secrets.box = box
        house.clock.advance(3600)
        ended = await house.ended(view.id)

    assert view.error is not None
    assert view.error.kind == "SecretUnreadable"
    assert ended.state is State.COMPLETED


async def test_the_value_that_counts_is_the_one_when_the_task_runs(house: House) -> None:
    @house.app.task(name="charge")
    async def charge(token: str) -> int:
        return len(token)

    task = await house.submit("charge", dict(TOKEN))
    await house.engine.secrets.put("api", "another value", tenant="default")
    async with house.worker():
        view = await house.ended(task)

    assert bytes(view.result or b"") == b"13"


async def test_data_that_looks_like_a_reference_is_data_when_marked_so(house: House) -> None:
    seen = []

    @house.app.task(name="keep")
    async def keep(data: dict[str, str]) -> None:
        seen.append(data)

    async with house.worker():
        await house.run("keep", {"data": {"$literal": {"$secret": "api"}}})

    assert seen == [{"$secret": "api"}]


@pytest.mark.parametrize("shift", range(0, 24, 3))
async def test_a_secret_at_the_edge_of_what_is_kept_of_a_log_is_masked(house: House, shift: int) -> None:
    @house.app.task(name="flood")
    async def flood(token: str) -> None:
        sys.stdout.write("x" * shift)
        for _ in range(1_000):
            sys.stdout.write(token)

    async with house.worker(limits=Limits(log=2_000)):
        view = await house.run("flood", dict(TOKEN))
        log = await house.log(view.id)

    assert "left out here" in log
    kept = re.sub(r"\n?\[[^\]]*\]\n", "", log)
    assert set(kept.replace("*", "")) <= {"x"} or max(map(len, kept.replace("***", " ").split())) < 4 + shift
