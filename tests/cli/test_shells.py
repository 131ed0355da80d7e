"""Completion in bash, zsh and fish themselves: the script of each is read by the shell, which then completes."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.black_box.server import Server
from tests.cli.conftest import Drumline
from tests.harness.programs import path_of

BASH = """
source <(drumline completion bash)
COMP_WORDS=(drumline schedules get 'week'); COMP_CWORD=3; _drumline_completion drumline
printf '%s\\n' "${COMPREPLY[@]}"
COMP_WORDS=(drumline tasks list --status 'comp'); COMP_CWORD=4; _drumline_completion drumline
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """
drumline completion fish | source
complete -C 'drumline schedules get week'
complete -C 'drumline tasks list --status comp'
"""
ZSH = "autoload -Uz compinit; compinit -u -D; source <(drumline completion zsh); print ready\n"


@pytest.fixture
def environment(online: Drumline, server: Server, tmp_path: Path) -> dict[str, str]:
    """A shell's environment in which `drumline` is this one, and finds a server that has a schedule."""
    online(
        "schedules", "create", "weekly digest", "--every", "7d", "--task", "shell", "--arg", "shell=echo a", "--paused"
    )
    program = tmp_path / "bin" / "drumline"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m drumline.cli.main "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(tmp_path), "DRUMLINE_DATA": str(server.data), "TERM": "xterm"}


def test_bash_completes_values_and_quotes_them(environment: dict[str, str]) -> None:
    bash = path_of("bash")

    done = subprocess.run([bash, "--norc"], input=BASH, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["weekly\\ digest", "completed"]


def test_fish_completes_values(environment: dict[str, str]) -> None:
    fish = path_of("fish")

    done = subprocess.run([fish, "-c", FISH], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["weekly digest", "completed"]


@pytest.mark.skipif(not hasattr(pty, "fork"), reason="there are no pseudo-terminals here")
@pytest.mark.timeout(60)
def test_zsh_completes_values_and_quotes_them(environment: dict[str, str]) -> None:
    zsh = path_of("zsh")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(zsh, [zsh, "-f"], environment)

    _send(terminal, ZSH, until="\nready")
    _send(terminal, "drumline schedules get week\t", until="weekly\\ digest")
    os.write(terminal, b"\x15exit\n")
    os.close(terminal)
    os.waitpid(pid, 0)


def _send(terminal: int, text: str, *, until: str) -> None:
    """Type a text, and read until the shell has printed another."""
    os.write(terminal, text.encode())
    seen = ""
    while until not in seen:
        seen += os.read(terminal, 65_536).decode(errors="replace")
