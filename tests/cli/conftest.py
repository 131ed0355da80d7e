"""The command line in this process, and a real server for it to talk to."""

import io
import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from drumline.cli.main import main
from tests.black_box.server import Server


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it said where."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Drumline = Callable[..., Ran]


@pytest.fixture
def drumline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Drumline:
    """Run a command as a script would: no terminal, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("DRUMLINE_CONTEXT", "DRUMLINE_URL", "DRUMLINE_API_KEY", "DRUMLINE_DATA", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)

    configure = structlog.configure
    # A logger that a command keeps as it has configured it would say nothing to tests that come later.
    monkeypatch.setattr(structlog, "configure", lambda **how: configure(**how | {"cache_logger_on_first_use": False}))

    def run(*words: str, stdin: str = "") -> Ran:
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["drumline", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        set_before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        root, ours = logging.getLogger(), structlog.get_config()
        level, handlers = root.level, list(root.handlers)
        code = 0
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            for number, handler in set_before.items():
                signal.signal(number, handler)
            # A command that says how to log says it for its own process.
            root.setLevel(level)
            root.handlers[:] = handlers
            configure(**ours)
        return Ran(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("cli") / "data") as server:
        yield server
        assert server.terminate() == 0


@pytest.fixture
def online(drumline: Drumline, server: Server, monkeypatch: pytest.MonkeyPatch) -> Drumline:
    """Run commands against the server."""
    monkeypatch.setenv("DRUMLINE_DATA", str(server.data))
    return drumline
