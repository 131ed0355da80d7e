"""The walls around `shell` tasks: which programs, as whom, and how much of the machine."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from drumline.core.errors import Invalid
from drumline.core.state import State
from drumline.core.task import TaskView
from drumline.lifecycle.worker_setup import built_in_kinds
from drumline.settings import Settings
from drumline.settings.fields import ShellSettings
from drumline.worker.executors.catalogue import BuiltIn
from drumline.worker.executors.confinement import Confinement, user_named
from tests.worker.house import House, result_of

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")


async def run(house: House, payload: Any, walls: Confinement) -> TaskView:
    async with house.worker(BuiltIn(shell=True, http=False, pdf=False, walls=walls)):
        return await house.run("shell", payload, retries=0)


async def test_programs_that_are_not_allowed_do_not_run(house: House, tmp_path: Path) -> None:
    walls = Confinement(allow=("echo",))
    marker = tmp_path / "ran"

    for payload in (
        {"command": ["touch", str(marker)]},
        {"command": ["/bin/sh", "-c", f"touch {marker}"]},
        {"shell": f"echo x; touch {marker}"},
        {"command": ["./echo"], "cwd": str(tmp_path)},
        {"command": ["../bin/echo"]},
    ):
        view = await run(house, payload, walls)
        assert view.state is State.FAILED
        assert view.error is not None
        assert "may only be one of echo" in view.error.message

    assert not marker.exists()


async def test_programs_that_are_allowed_run_by_name_and_by_path(house: House) -> None:
    by_name = await run(house, {"command": ["echo", "a  b"]}, Confinement(allow=("echo",)))
    by_path = await run(house, {"command": ["/bin/echo", "c"]}, Confinement(allow=("/bin/echo",)))

    assert result_of(by_name)["stdout"] == "a  b\n"
    assert result_of(by_path)["stdout"] == "c\n"


@pytest.mark.parametrize(
    "name",
    [
        "PATH", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS", "IFS", "BASH_FUNC_date%%", "BASH_FUNC_echo()",
        "ENV", "HOME", "GLIBC_TUNABLES", "LESSOPEN", "PROMPT_COMMAND", "TASK_%%", "TASK_()", "LC_PRELOAD", "ORDER", "",
        "path", "TASK_\n", "TASK_PATH",
    ],
)  # fmt: skip
async def test_no_variable_turns_an_allowed_program_into_another(house: House, tmp_path: Path, name: str) -> None:
    fake = tmp_path / "echo"
    fake.write_text("#!/bin/sh\ntouch ran\n")
    fake.chmod(0o755)

    view = await run(house, {"command": ["echo"], "env": {name: str(tmp_path)}}, Confinement(allow=("echo",)))

    assert view.error is not None
    assert view.error.message.startswith(f"payload.env.{name}: ")


async def test_a_function_in_the_environment_does_not_take_the_place_of_a_program(house: House, tmp_path: Path) -> None:
    script = tmp_path / "report"
    script.write_text("#!/bin/bash\ndate\n")
    script.chmod(0o755)
    given = {"BASH_FUNC_date%%": f"() {{ touch {tmp_path}/ran; }}"}

    view = await run(house, {"command": [str(script)], "env": given}, Confinement(allow=(str(script),)))

    assert view.state is State.FAILED
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("name", "value"), [("LANG", "../../tmp/x"), ("LC_ALL", "/tmp/x"), ("TZ", ":/etc/shadow")])
async def test_the_name_of_a_locale_is_no_path(house: House, name: str, value: str) -> None:
    view = await run(house, {"command": ["echo"], "env": {name: value}}, Confinement(allow=("echo",)))

    assert view.error is not None
    assert view.error.message == f"payload.env.{name}: must be the name of a locale or zone"


async def test_variables_that_are_on_the_list_are_set(house: House) -> None:
    given = {"TASK_ID": "7", "LANG": "C.UTF-8", "TZ": "Europe/Berlin", "ORDER_ID": "8", "COLOUR": "red"}
    walls = Confinement(allow=("env",), env=("ORDER_*", "COLOUR"))

    told = result_of(await run(house, {"command": ["env"], "env": given}, walls))["stdout"].splitlines()

    assert {f"{name}={value}" for name, value in given.items()} <= set(told)


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "*", "PATH", "BASH_*", "A%%", "a b", "BASH_FUNC_date%%", "PYTHON*", "LD_*"]
)
def test_a_variable_that_makes_a_program_run_others_cannot_be_allowed(name: str) -> None:
    with pytest.raises(Invalid):
        built_in_kinds(Settings(shell=ShellSettings(allow=("echo",), env=(name,))), is_embedded=True)


async def test_the_environment_of_the_worker_stays_behind(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRUMLINE_SECRET_KEY", "hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")

    for walls in (Confinement(), Confinement(files=64)):
        view = await run(house, {"command": ["/usr/bin/env"]}, walls)
        assert "hunter2" not in result_of(view)["stdout"]


async def test_each_limit_holds_in_the_program_itself(house: House) -> None:
    walls = Confinement(cpu_seconds=7, memory=1_000_000_000, files=33, file_size=4096, processes=222)
    code = (
        "import resource as r; print([r.getrlimit(k)[0] for k in "
        "(r.RLIMIT_CPU, r.RLIMIT_AS, r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_NPROC, r.RLIMIT_CORE)])"
    )

    view = await run(house, {"command": [sys.executable, "-c", code]}, walls)

    assert result_of(view)["stdout"] == "[7, 1000000000, 33, 4096, 222, 0]\n"


async def test_a_program_that_takes_too_much_of_something_fails_and_the_worker_goes_on(house: House) -> None:
    memory = await run(
        house, {"command": [sys.executable, "-c", "bytearray(2_000_000_000)"]}, Confinement(memory=500_000_000)
    )
    cpu = await run(house, {"command": [sys.executable, "-c", "while True: pass"]}, Confinement(cpu_seconds=1))

    assert memory.error is not None
    assert "MemoryError" in memory.error.message
    assert cpu.error is not None
    assert "killed by SIG" in cpu.error.message


async def test_a_program_that_is_not_there_is_told_before_the_walls_are_built(house: House) -> None:
    view = await run(house, {"command": ["no-such-program"]}, Confinement(files=64))

    assert view.error is not None
    assert view.error.message == "payload.command: cannot be run: there is no program no-such-program"


@as_root
async def test_programs_run_as_the_user_that_was_named_in_a_folder_of_their_own(house: House) -> None:
    walls = Confinement(user=user_named("nobody", field="shell.user"))

    view = await run(house, {"shell": "id -u; id -G; touch here && ls; echo $HOME $USER; cat /proc/1/environ"}, walls)

    assert view.error is not None  # another's environment cannot be read
    uid, groups, listed, whose, *_ = (await house.log(view.id)).splitlines()
    assert (uid, groups, listed) == (str(walls.user and walls.user.uid), str(walls.user and walls.user.gid), "here")
    assert whose.endswith(" nobody")


def test_a_user_that_cannot_be_had_is_refused_when_the_worker_starts() -> None:
    with pytest.raises(Invalid, match="there is no user"):
        built_in_kinds(Settings(shell=ShellSettings(user="no-such-user")), is_embedded=True)


@as_root
def test_programs_do_not_run_as_the_superuser_on_purpose() -> None:
    with pytest.raises(Invalid, match="superuser"):
        user_named("root", field="shell.user")
