"""The examples, run as a reader would: `drumline dev` in one process, the program in another."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP

from drumline.sdk.threads import LoopThread

EXAMPLES = Path(__file__).parents[2] / "examples"
APPS = [str(EXAMPLES / name) for name in ("hello.py", "closing_job.py")]


class BusyAtFirst:
    """A mail server's handler that turns the first mail away for now."""

    def __init__(self) -> None:
        self.mails: list[bytes] = []
        self.refused = 0

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.refused == 0:
            self.refused += 1
            return "451 busy, try again later"
        self.mails.append(envelope.content)
        return "250 OK"


@pytest.fixture
def mail_server() -> Iterator[tuple[BusyAtFirst, int]]:
    handler = BusyAtFirst()
    thread = LoopThread("mail")

    async def listen() -> asyncio.Server:
        return await thread.loop.create_server(lambda: SMTP(handler), "127.0.0.1", 0)

    server = thread.wait(listen())
    yield handler, server.sockets[0].getsockname()[1]
    thread.loop.call_soon_threadsafe(server.close)
    thread.stop()


@pytest.fixture
def server(tmp_path: Path, mail_server: tuple[BusyAtFirst, int]) -> Iterator[dict[str, str]]:
    """`drumline dev` with the first example, on a free port; gives the environment in which clients find it."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("DRUMLINE_")}
    here = {**outside, "DRUMLINE_DATA": str(tmp_path / "data"), "PYTHONWARNINGS": "error::ResourceWarning"}
    smtp = {"DRUMLINE_SMTP_HOST": "127.0.0.1", "DRUMLINE_SMTP_PORT": str(mail_server[1]), "DRUMLINE_SMTP_TLS": "none"}
    command = [sys.executable, "-m", "drumline.cli.main", "dev", *APPS, "--port", "0"]
    with (
        (tmp_path / "dev.log").open("wb") as log,
        subprocess.Popen(command, env=here | smtp, cwd=tmp_path, stdout=log, stderr=log) as process,
    ):
        try:
            _await_ready(process, tmp_path / "dev.log")
            yield here
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) in {0, -signal.SIGTERM, 143}, (tmp_path / "dev.log").read_text()


def _await_ready(process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if b"is ready" in log.read_bytes():
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    pytest.fail(f"drumline dev did not start:\n{log.read_text()}")


def run(example: str, environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.faults
def test_the_examples_do_what_they_say(
    server: dict[str, str], mail_server: tuple[BusyAtFirst, int], tmp_path: Path
) -> None:
    hello = run("hello.py", server, tmp_path)
    assert "follow it at http://127.0.0.1:" in hello
    assert "2 + 3 = 5\nit said: adding 2 and 3\nthe one for later is CANCELLED\n" in hello

    pipeline = run("shell_pipeline.py", server, tmp_path)
    assert pipeline.endswith("most beaten: snare\na stage that fails says why: exit code 1\n")

    closing = run("closing_job.py", server, tmp_path)
    assert "\n3 orders, 2400 cents\n" in closing
    assert "it failed: task 'charge-1' failed: Permanent: nobody pays order 13\n" in closing
    assert "'report': 'SKIPPED', 'clean_up': 'COMPLETED'" in closing

    mail = run("email_with_retry.py", server, tmp_path)
    again = run("email_with_retry.py", server, tmp_path)
    handler, _ = mail_server
    assert "PENDING, attempt 1" in mail
    assert "COMPLETED, attempt 2\nsent as " in mail
    assert mail.splitlines()[-1] == again.splitlines()[-1]
    assert (handler.refused, len(handler.mails)) == (1, 1)
    assert b"Welcome to the line" in handler.mails[0]


def test_the_hello_example_runs_without_a_server_too(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from hello import add, app\n"
        "with app.running():\n    print(add.submit(20, 22).result(timeout=30))\n"
    )
    environment = {**os.environ, "DRUMLINE_DATA": str(tmp_path / "data")}
    environment.pop("DRUMLINE_URL", None)

    done = subprocess.run(
        [sys.executable, "-c", program, str(EXAMPLES)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.splitlines()[-1:] == ["42"], done.stderr


def test_the_tests_of_a_shop_pass() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_charging.py")]
    done = subprocess.run(command, cwd=EXAMPLES.parent, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout
