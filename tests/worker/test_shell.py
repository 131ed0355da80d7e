"""Commands in process groups of their own."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from drumline.core.state import State
from drumline.core.task import TaskView
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.executors.programs import Output, Program, run_program
from drumline.worker.watchdog import Watchdog
from tests.worker.house import DEADLINE, House, result_of, until

SHELL = BuiltIn(shell=True, http=False, pdf=False)


async def run(house: House, payload: Any, **options: Any) -> TaskView:
    async with house.worker(SHELL):
        return await house.run("shell", payload, **options)


async def error_of(house: House, payload: Any) -> str:
    async with house.worker(SHELL):
        view = await house.try_once("shell", payload)
    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    return attempt.error.message


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def read_pid(path: Path) -> int:
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else 0


async def test_shell_is_off_unless_it_is_enabled(house: House) -> None:
    async with house.worker() as shift:
        await until(lambda: shift.worker.session is not None)
        (session,) = await house.engine.sessions.list()

    assert "shell" not in session.spec.names


async def test_a_text_as_command_is_for_the_shell_as_it_is_in_a_job(house: House) -> None:
    view = await run(house, {"command": "echo a | tr a b; echo $((1 + 1))"})

    assert view.state is State.COMPLETED
    assert result_of(view)["stdout"] == "b\n2\n"


async def test_a_command_is_a_program_and_its_arguments_that_no_shell_touches(house: House) -> None:
    view = await run(house, {"command": ["echo", "$HOME;", "a  b"]})

    assert result_of(view) == {"exit_code": 0, "stdout": "$HOME; a  b\n", "is_cut": False}
    assert await house.log(view.id) == "$HOME; a  b\n"


async def test_a_shell_text_is_run_by_the_shell(house: House) -> None:
    view = await run(house, {"shell": "printf 'b\\na\\n' | sort; echo warn >&2"})

    assert result_of(view)["stdout"] == "a\nb\n"
    assert "warn\n" in await house.log(view.id)


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({}, "payload.command"),
        ({"command": ""}, "payload.command"),
        ({"command": "echo a\x00b"}, "payload.command"),
        ({"command": "echo", "shell": "echo"}, "payload.command"),
        ({"command": 5}, "payload.command"),
        ({"command": []}, "payload.command"),
        ({"command": ["echo"], "shell": "echo"}, "payload.command"),
        ({"command": ["no-such-program"]}, "payload.command"),
        ({"command": ["a\x00b"]}, "payload.command"),
        ({"command": ["pwd"], "cwd": "relative"}, "payload.cwd"),
        ({"command": ["pwd"], "cwd": "/no/such/folder"}, "payload.cwd"),
        ({"command": ["pwd"], "env": {"A=B": "c"}}, "payload.env.A=B"),
        ({"command": ["pwd"], "oops": 1}, "payload.oops"),
    ],
)
async def test_a_payload_that_makes_no_sense_fails_for_good_naming_the_field(
    house: House, payload: Any, field: str
) -> None:
    view = await run(house, payload)

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.message.startswith(f"{field}: ")


async def test_another_exit_code_than_0_is_a_failure_with_the_last_lines(house: House) -> None:
    message = await error_of(house, {"shell": "echo so far; echo it broke >&2; exit 3"})

    assert message.startswith("exit code 3\n")
    assert "it broke" in message


async def test_a_signal_is_named(house: House) -> None:
    assert await error_of(house, {"shell": "kill -9 $$"}) == "killed by SIGKILL"


async def test_a_command_sees_only_harmless_variables_and_those_it_was_given(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_API_KEY", "sk_secret")

    view = await run(house, {"command": ["env"], "env": {"COLOUR": "red"}})

    variables = dict(line.split("=", 1) for line in result_of(view)["stdout"].splitlines())
    assert variables["COLOUR"] == "red"
    assert "PATH" in variables
    assert "DRUMLINE_API_KEY" not in variables


async def test_a_command_runs_in_an_empty_folder_that_is_removed(house: House) -> None:
    view = await run(house, {"shell": "pwd; ls -A; touch left-behind"})

    (folder,) = result_of(view)["stdout"].splitlines()
    assert not Path(folder).exists()  # noqa: ASYNC240


async def test_a_command_may_choose_its_folder_and_be_given_input(house: House, tmp_path: Path) -> None:
    view = await run(house, {"shell": "pwd; cat", "cwd": str(tmp_path), "stdin": "hé"})

    assert result_of(view)["stdout"] == f"{tmp_path}\nhé"


async def test_input_need_not_be_read(house: House) -> None:
    view = await run(house, {"command": ["true"], "stdin": "x" * 1_000_000})

    assert view.state is State.COMPLETED


async def test_long_output_is_cut_at_the_front_in_the_result(house: House) -> None:
    view = await run(house, {"command": ["seq", "100000"]})

    result = result_of(view)
    assert result["is_cut"]
    assert len(result["stdout"]) == 16 * 1024
    assert result["stdout"].endswith("99999\n100000\n")


async def test_output_can_be_read_while_the_command_runs(house: House, tmp_path: Path) -> None:
    go = tmp_path / "go"
    async with house.worker(SHELL):
        task = await house.submit("shell", {"shell": f"echo first; while ! [ -e {go} ]; do sleep 0.01; done"})

        async def has_first() -> bool:
            return await house.log(task) == "first\n"

        await until(has_first)
        go.touch()
        view = await house.ended(task)

    assert view.state is State.COMPLETED


async def test_a_timeout_kills_the_whole_group(house: House, tmp_path: Path) -> None:
    text = f"sleep 1000 & echo $! > {tmp_path / 'child'}; wait"
    async with house.worker(SHELL, stop_grace=5.0):
        view = await house.try_once("shell", {"shell": text}, timeout=2)  # long enough for the child to begin

    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"
    await until(lambda: is_gone(read_pid(tmp_path / "child")))


async def test_a_command_that_ignores_the_request_to_end_is_killed_after_the_grace(
    house: House, tmp_path: Path
) -> None:
    text = f"trap '' TERM; echo $$ > {tmp_path / 'pid'}; while :; do sleep 0.01; done"
    async with house.worker(SHELL, beat_every=0.02, stop_grace=0.1):
        task = await house.submit("shell", {"shell": text})
        await until(lambda: read_pid(tmp_path / "pid"))
        await house.engine.control.cancel(task)
        view = await house.ended(task)

    assert view.state is State.CANCELLED
    assert is_gone(read_pid(tmp_path / "pid"))


async def test_a_command_may_end_in_its_own_way_within_the_grace(house: House, tmp_path: Path) -> None:
    text = f"trap 'echo tidied; exit 0' TERM; echo $$ > {tmp_path / 'pid'}; while :; do sleep 0.01; done"
    async with house.worker(SHELL, beat_every=0.02, stop_grace=10.0):
        task = await house.submit("shell", {"shell": text})
        await until(lambda: read_pid(tmp_path / "pid"))
        await house.engine.control.cancel(task)
        view = await house.ended(task)

    assert view.state is State.CANCELLED
    assert (await house.log(task)).endswith("tidied\n")


async def test_a_lost_lease_kills_the_command_at_once(house: House, tmp_path: Path) -> None:
    text = f"trap '' TERM; echo $$ > {tmp_path / 'pid'}; while :; do sleep 0.01; done"
    async with house.worker(SHELL, beat_every=0.02, stop_grace=3600.0):
        task = await house.submit("shell", {"shell": text})
        await until(lambda: read_pid(tmp_path / "pid"))
        await house.engine.control.cancel(task, force=True)
        await until(lambda: is_gone(read_pid(tmp_path / "pid")))

    assert house.line.settled == []


async def test_what_a_command_leaves_running_is_killed_when_it_ends(house: House, tmp_path: Path) -> None:
    view = await run(house, {"shell": f"sleep 1000 & echo $! > {tmp_path / 'child'}; echo done"})

    assert result_of(view)["stdout"] == "done\n"
    await until(lambda: is_gone(read_pid(tmp_path / "child")))


@pytest.mark.faults
async def test_no_command_outlives_a_worker_that_is_killed(tmp_path: Path) -> None:
    text = f"sleep 1000 & sleep 0.3; echo $! > {tmp_path}/child; wait"
    program = f"""
import asyncio
from drumline.worker.executors.programs import Output, Program, run_program
from drumline.worker.watchdog import Watchdog
from pathlib import Path

asyncio.run(run_program(
    Program(argv=("/bin/sh", "-c", "{text}"), cwd=Path("/"), env={{}}),
    out=Output(print), err=Output(print), grace=lambda: 0.0, watchdog=Watchdog(),
))
"""
    worker = subprocess.Popen([sys.executable, "-c", program], env=dict(os.environ))  # noqa: ASYNC220
    await until(lambda: read_pid(tmp_path / "child"))
    worker.kill()
    worker.wait(DEADLINE)

    await until(lambda: is_gone(read_pid(tmp_path / "child")))


@pytest.mark.timeout(600)  # what interrupts it may leave a lock of `logging` behind, taken by a fork
def test_what_another_thread_has_just_opened_is_not_closed() -> None:
    uvloop = pytest.importorskip("uvloop")  # whose transports close their pipes twice
    over = threading.Event()
    wrong: list[OSError] = []

    def open_and_close() -> None:
        while not over.is_set():
            descriptor = os.open(os.devnull, os.O_RDONLY)
            try:
                os.close(descriptor)
            except OSError as error:
                wrong.append(error)

    async def run_programs() -> None:
        program = Program(argv=("/bin/true",), cwd=Path("/"), env={})
        async with Watchdog() as watchdog:
            for _ in range(100):
                nowhere = Output(lambda _: None)
                await run_program(program, out=nowhere, err=nowhere, grace=lambda: 1.0, watchdog=watchdog)

    threads = [threading.Thread(target=open_and_close) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run_programs())
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert wrong == []
