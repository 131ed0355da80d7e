"""What `shell` tasks may run, as whom, and how much of the machine they get."""

import os
import pwd
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from drumline.core.errors import Invalid

LAUNCHER: Final = Path(__file__).with_name("confined.py")
TURNING: Final = re.compile(
    r"(LD_|DYLD_|BASH|PYTHON|PERL|RUBY|NODE_|JAVA_|JDK_|GIT_|GCONV_|GLIBC_|MALLOC_|XDG_|LESS|LUA_|PROMPT).*"
    r"|PATH|.*_PATH|IFS|ENV|SHELL|SHELLOPTS|PS[0-9]|CDPATH|FPATH|ZDOTDIR|HOME|CLASSPATH|LOCPATH|NLSPATH|TMPDIR"
    r"|_JAVA_OPTIONS|.*OPTIONS|.*FLAGS|.*PRELOAD.*|VISUAL|BROWSER|.*EDITOR|.*PAGER|.*ASKPASS|.*RSH|WGETRC|CURL_HOME"
    r"|OPENSSL_CONF|OPENSSL_MODULES|PHPRC|AWKPATH|TCLLIBPATH|.*_PROXY|.*_WRAPPER",
    re.IGNORECASE | re.DOTALL,
)
"""Variables by which a program can be made to run or read something else; they cannot be allowed."""
HARMLESS: Final = ("TASK_*", "LANG", "LANGUAGE", "LC_*", "TZ", "COLUMNS", "LINES", "NO_COLOR")
"""Variables that tasks may set wherever they may run something."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_LOCALE: Final = re.compile(r"(LANG|LANGUAGE|LC_[A-Z]+|TZ)")
_LOCALE_VALUE: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9_@+-][A-Za-z0-9_@+.,:/-]*|")
"""The name of a locale or zone, and no path that would be read instead."""


class User(Struct, frozen=True):
    """Whom programs run as."""

    name: str
    uid: int
    gid: int


class Confinement(Struct, frozen=True, kw_only=True):
    """The walls around programs; the default has none but the emptied environment."""

    allow: tuple[str, ...] = ()
    """Programs that may run, by absolute path or by a name on the worker's own path; none named means all."""
    env: tuple[str, ...] = ()
    """Variables that may be set besides the harmless ones, where only some programs may run."""
    cpu_seconds: int | None = None
    """Seconds of processor time for each process."""
    memory: int | None = None
    """Bytes of address space of each process."""
    files: int | None = None
    """Files that each process may have open."""
    file_size: int | None = None
    """Bytes of the largest file that may be written."""
    processes: int | None = None
    """Processes that the user may have, all in all; the superuser has no such limit."""
    user: User | None = None

    @property
    def limits(self) -> Mapping[str, int]:
        """The limits by their names in `resource`."""
        given = {
            "RLIMIT_CPU": self.cpu_seconds,
            "RLIMIT_AS": self.memory,
            "RLIMIT_NOFILE": self.files,
            "RLIMIT_FSIZE": self.file_size,
            "RLIMIT_NPROC": self.processes,
        }
        return {name: number for name, number in given.items() if number is not None}

    def argv(self, argv: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the argv of a confined command; `Invalid` if it may not run, or does not exist."""
        limits, is_free = self.limits, self.user is None
        if is_free and not limits and not self.allow:
            return argv
        program = self._program(argv[0], env)
        if is_free and not limits:
            return (program, *argv[1:])
        user = ("-", "-") if self.user is None else (str(self.user.uid), str(self.user.gid))
        said = ",".join(f"{name}={number}" for name, number in {**limits, "RLIMIT_CORE": 0}.items())
        return (sys.executable, "-I", "-S", str(LAUNCHER), said, *user, program, *argv[1:])

    def check_environment(self, given: Mapping[str, str]) -> None:
        """Raise `Invalid` for a variable that could change which code an allowed program runs."""
        if not self.allow:
            return
        for name, value in given.items():
            if not _is_listed(name, self.env):
                raise Invalid(
                    "may not be set where only some programs may run: it could make them run others; "
                    "shell.env of the worker names what may be set",
                    field=f"payload.env.{name[:100]}",
                )
            if _LOCALE.fullmatch(name) and _LOCALE_VALUE.fullmatch(value) is None:
                raise Invalid("must be the name of a locale or zone", field=f"payload.env.{name}")

    def own_environment(self, folder: Path) -> dict[str, str]:
        """Return `HOME`, `USER` and the like for a program that runs as another user."""
        if self.user is None:
            return {}
        return {"HOME": str(folder), "USER": self.user.name, "LOGNAME": self.user.name}

    def _program(self, name: str, env: Mapping[str, str]) -> str:
        # Where only some may run, the command's own path does not decide what a name means.
        path = os.environ.get("PATH", os.defpath) if self.allow else env.get("PATH", os.defpath)
        found = shutil.which(name, path=path) if os.sep not in name or os.path.isabs(name) else None  # noqa: PTH117
        if self.allow and found not in self._allowed():
            raise Invalid(f"may only be one of {', '.join(self.allow)}, not {name}", field="payload.command")
        if found is None and os.sep in name and not self.allow:
            return name  # relative to its folder: it is found there or not when it runs
        if found is None:
            raise Invalid(f"cannot be run: there is no program {name}", field="payload.command")
        return found

    def _allowed(self) -> frozenset[str]:
        path = os.environ.get("PATH", os.defpath)
        return frozenset(found for entry in self.allow if (found := shutil.which(entry, path=path)))


NO_WALLS: Final = Confinement()


def check_variables(patterns: tuple[str, ...], *, field: str) -> tuple[str, ...]:
    """Return the variables that tasks may set, or raise `Invalid` for one that would let them run anything."""
    for pattern in patterns:
        plain = pattern.removesuffix("*")
        if _PLAIN_NAME.fullmatch(plain) is None:
            raise Invalid(f"{pattern!r} must be letters, digits and _, with a * at the end at most", field=field)
        if TURNING.fullmatch(plain):
            raise Invalid(f"{pattern} cannot be allowed: it can make a program run others", field=field)
    return patterns


def _is_listed(name: str, more: tuple[str, ...]) -> bool:
    """Tell whether a variable may be set: one of the list, with a plain name, that turns no program into another."""
    if _PLAIN_NAME.fullmatch(name) is None or TURNING.fullmatch(name):
        return False
    return any(name == entry or (entry[-1] == "*" and name.startswith(entry[:-1])) for entry in (*HARMLESS, *more))


def user_named(name: str, *, field: str) -> User:
    """Return a user of this machine, or raise `Invalid` if there is none or this process may not become it."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        raise Invalid(f"there is no user {name} on this machine", field=field) from error
    if os.geteuid() != 0:
        raise Invalid("needs a worker that is started as root: only root may switch users", field=field)
    if entry.pw_uid == 0:
        raise Invalid("must not be the superuser", field=field)
    return User(name, entry.pw_uid, entry.pw_gid)
