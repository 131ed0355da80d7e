"""Commands: `shell`. A program with its arguments, or a text for the shell."""

import os
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from drumline.core.clock import moment_of
from drumline.core.errors import Invalid
from drumline.core.session import TaskType
from drumline.worker.executors.confinement import NO_WALLS, Confinement
from drumline.worker.executors.executor import ExecutorCall, published
from drumline.worker.executors.programs import (
    Output,
    Program,
    Tail,
    describe_exit,
    inherited_environment,
    private_folder,
    run_program,
)
from drumline.worker.failures import failure, refusal
from drumline.worker.watchdog import Watchdog

NAME: Final = "shell"
DOC: Final = """Run a program in a process group of its own.

Give `command`: a list of the program and its arguments, which no shell touches, or a text for `/bin/sh`, as in a job;
`shell` is such a text too.
Output goes to the task's log; the result has the exit code and the end of the standard output. An exit code other than
0 is a failure and is retried.
"""
KEPT_OUTPUT: Final = 16 * 1024
KEPT_LINES: Final = 20


class ShellPayload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a `shell` task is given."""

    command: str | tuple[str, ...] | None = None
    shell: str | None = None
    cwd: str | None = None
    env: dict[str, str] = {}
    stdin: str | None = None


class ShellExecutor:
    """Runs shell commands. Any caller who may submit tasks can run any command on the worker's machine."""

    def __init__(self, watchdog: Watchdog, walls: Confinement = NO_WALLS) -> None:
        self._watchdog = watchdog
        self._walls = walls
        self.type: TaskType = published(NAME, ShellPayload, doc=DOC)

    async def execute(self, call: ExecutorCall) -> Any:
        """Run the command; without a folder of its own choice, in an empty one that is removed afterwards."""
        payload = call.payload_as(ShellPayload)
        try:
            self._walls.check_environment(payload.env)
            env = _fire_time_of(call) | environment_of(payload)
            argv = self._walls.argv(argv_of(payload), env)
            cwd = folder_of(payload)
        except Invalid as error:
            raise refusal(error) from error
        stdin = None if payload.stdin is None else payload.stdin.encode()
        if cwd is not None:
            return await self._run(Program(argv=argv, cwd=cwd, env=env, stdin=stdin), call)
        async with private_folder("drumline-shell-") as fresh:
            if self._walls.user is not None:
                os.chown(fresh, self._walls.user.uid, self._walls.user.gid)
            own = {**self._walls.own_environment(fresh), **payload.env}
            return await self._run(Program(argv=argv, cwd=fresh, env={**env, **own}, stdin=stdin), call)

    async def _run(self, program: Program, call: ExecutorCall) -> Any:
        out, both = Tail(KEPT_OUTPUT), Tail(KEPT_OUTPUT)
        try:
            code = await run_program(
                program,
                out=Output(call.log.write, out, both),
                err=Output(call.log.write, both),
                grace=lambda: call.grace,
                watchdog=self._watchdog,
            )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            reason = f"cannot be run: {error.strerror}: {program.argv[0]}"
            raise refusal(Invalid(reason, field="payload.command")) from error
        if code != 0:
            # What is kept may begin in the middle of a line, and of a secret.
            last = "\n".join(call.masked(both.text).splitlines()[-KEPT_LINES:])
            raise failure("ExitCode", f"{describe_exit(code)}\n{last}".rstrip())
        return {"exit_code": code, "stdout": out.text, "is_cut": out.is_cut}


def argv_of(payload: ShellPayload) -> tuple[str, ...]:
    """Return the program and its arguments, or raise `Invalid` unless exactly one way was chosen."""
    if (payload.command is None) == (payload.shell is None):
        reason = "must be a list of the program and its arguments; or give shell, a text for /bin/sh, instead"
        raise Invalid(reason, field="payload.command")
    text = payload.command if isinstance(payload.command, str) else payload.shell
    argv = payload.command if isinstance(payload.command, tuple) else ("/bin/sh", "-c", text or "")
    if not argv or not argv[0] or payload.command == "":
        raise Invalid("must name a program", field="payload.command")
    if any("\x00" in part for part in argv):
        raise Invalid("must not contain NUL", field="payload.command" if payload.command else "payload.shell")
    return argv


def environment_of(payload: ShellPayload) -> dict[str, str]:
    """Return the command's whole environment: a few harmless variables of the worker's, and those it was given."""
    for name, value in payload.env.items():
        if not name or "=" in name or "\x00" in name + value:
            raise Invalid("must be a name without = and a value without NUL", field=f"payload.env.{name}")
    return {**inherited_environment(), **payload.env}


def _fire_time_of(call: ExecutorCall) -> dict[str, str]:
    """Return the variable that tells a command which fire time it is for, if a schedule made the task."""
    fire_time = call.task.options.fire_time
    return {} if fire_time is None else {"DRUMLINE_FIRE_TIME": moment_of(fire_time)}


def folder_of(payload: ShellPayload) -> Path | None:
    """Return the folder that the command asked to run in; None if it did not."""
    if payload.cwd is None:
        return None
    folder = Path(payload.cwd)
    if not folder.is_absolute() or not os.access(folder, os.X_OK) or not folder.is_dir():
        raise Invalid("must be the absolute path of a folder on the worker's machine", field="payload.cwd")
    return folder
