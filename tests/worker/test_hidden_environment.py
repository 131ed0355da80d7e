"""What a process was told by its environment, and what programs of the same user can find out of it."""

import os
import subprocess
import sys

import pytest

from drumline.worker.hidden_environment import split_environment
from tests.worker import process_tasks
from tests.worker.house import House, result_of

CANARY = "canary-of-the-environment"
LOOKING = """
import os, subprocess, sys
from drumline.worker.hidden_environment import protect_process
{protect}
look = "cat /proc/$PPID/{what} | tr '\\\\0' '\\\\n'"
seen = subprocess.run(["/bin/sh", "-c", look], capture_output=True, env={{"PATH": os.environ["PATH"]}}, timeout=30)
inherited = subprocess.run(["/bin/sh", "-c", 'echo "$DRUMLINE_API_KEY"'], capture_output=True, timeout=30).stdout
print(inherited.decode().strip() == os.environ["DRUMLINE_API_KEY"])
print({canary!r} in seen.stdout.decode("latin-1"), "HARMLESS=1" in seen.stdout.decode("latin-1"))
print(seen.stderr.decode())
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")


def look(what: str, *, protect: str = "protect_process()", user: str | None = None) -> list[str]:
    """Run a program that was told a key, let a child of it look, and return what came out."""
    environment = {**os.environ, "DRUMLINE_API_KEY": CANARY, "DATABASE_URL": f"postgresql://{CANARY}", "HARMLESS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOOKING.format(protect=protect, what=what, canary=CANARY)],
        env=environment,
        user=user,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd="/",
    )
    return done.stdout.splitlines()


def test_without_protection_a_child_reads_the_key() -> None:
    assert look("environ", protect="")[:2] == ["True", "True True"]


def test_a_child_does_not_find_the_key_where_the_kernel_shows_the_environment() -> None:
    inherits, seen, *_ = look("environ")

    assert inherits == "True"  # the process itself, and a child that it tells, have it still
    assert seen.split()[0] == "False"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize("what", ["environ", "mem", "fd/0", "maps"])
def test_a_child_of_the_same_user_cannot_look_into_the_process(what: str) -> None:
    try:
        inherits, seen, errors, *_ = look(what, user="nobody")
    except PermissionError:
        pytest.skip(
            "other users may not run this Python: make the tests' environment with one outside of a home folder"
        )

    assert (inherits, seen) == ("True", "False False")
    assert "Permission denied" in errors


def test_what_a_child_process_is_started_with_has_no_secret() -> None:
    shown, hidden = split_environment(
        {"PATH": "/bin", "DRUMLINE_API_KEY": "a", "AWS_SECRET_ACCESS_KEY": "b", "DATABASE_URL": "c", "db_password": "d"}
    )

    assert shown == {"PATH": "/bin"}
    assert len(hidden) == 4


async def test_functions_in_child_processes_have_the_whole_environment_and_show_none_of_its_secrets(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_API_KEY", CANARY)
    house.app = process_tasks.app

    async with house.worker():
        told = result_of(await house.run("environment", {}))

    assert told["key"] == CANARY
    assert CANARY not in told["shown"]
