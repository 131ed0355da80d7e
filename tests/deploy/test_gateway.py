"""The gateway of the composed system: its own file, read by a real HAProxy before two real servers."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
import urllib3

from drumline.api.events import BEAT_SECONDS
from drumline.api.operation import Info
from tests.black_box.server import eventually
from tests.deploy.files import DEPLOY, program, run
from tests.harness.programs import free_port

FILE = DEPLOY / "compose" / "haproxy.cfg"
KEY = "a key that everybody knows"


class Gateway(NamedTuple):
    url: str
    servers: list["subprocess.Popen[bytes]"]


def seconds_of(name: str) -> float:
    (text,) = re.findall(rf"^ *timeout {name} (\d+)s$", FILE.read_text(), flags=re.MULTILINE)
    return float(text)


def test_silence_that_is_promised_is_not_taken_for_death() -> None:
    longest = max(Info(version="", disk="").longest_wait, BEAT_SECONDS)

    assert seconds_of("server") > longest
    assert seconds_of("client") > longest


def test_haproxy_understands_the_file() -> None:
    run(program("haproxy"), "-c", "-f", str(FILE))


def render(port: int, servers: list[int]) -> str:
    """Return the file with addresses of this machine in place of those of the containers."""
    text, binds = re.subn(r"bind :8080", f"bind 127.0.0.1:{port}", FILE.read_text())
    here = "\n".join(f"    server api{number} 127.0.0.1:{number}" for number in servers)
    text, templates = re.subn(r"^ *server-template .*$", here, text, flags=re.MULTILINE)
    assert (binds, templates) == (1, 1)
    return text


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    haproxy = program("haproxy")
    port, ports = free_port(), [free_port(), free_port()]
    config = tmp_path / "haproxy.cfg"
    config.write_text(render(port, ports))
    environment = {"DRUMLINE_API_KEY": KEY, "DRUMLINE_DATA": str(tmp_path / "data"), "PATH": ""}
    drumline = [sys.executable, "-m", "drumline.cli.main"]
    with ExitStack() as stack, (tmp_path / "log").open("wb") as log:
        subprocess.run([*drumline, "migrate"], env=environment, cwd=tmp_path, check=True, stderr=log, timeout=60)
        servers = []
        for command in (
            [haproxy, "-db", "-f", str(config)],
            *([*drumline, "api", "--port", str(one)] for one in ports),
        ):
            process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=log, stderr=log)
            stack.callback(end, process)
            servers.append(process)
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: all(answers(f"http://127.0.0.1:{one}") for one in ports), 30, (tmp_path / "log").read_text)
        eventually(lambda: answers(url), 30, (tmp_path / "log").read_text)
        yield Gateway(url, servers[1:])


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait(30)


def answers(url: str) -> bool:
    try:
        return urllib3.request("GET", f"{url}/readyz", retries=False, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def submit(url: str) -> int:
    reply = urllib3.request(
        "POST", f"{url}/api/v1/tasks", headers={"X-API-Key": KEY}, json={"name": "nobody"}, retries=False, timeout=20
    )
    return int(reply.status)


@pytest.mark.services
def test_events_come_through_as_they_happen(gateway: Gateway) -> None:
    stream = urllib3.request(
        "GET",
        f"{gateway.url}/api/v1/events",
        headers={"X-API-Key": KEY},
        retries=False,
        timeout=20,
        preload_content=False,
    )
    with stream:
        seen = stream.read1()
        submit(gateway.url)
        while b"task.submitted" not in seen:
            more = stream.read1()
            assert more, seen
            seen += more

    assert stream.status == 200


@pytest.mark.services
def test_the_figures_are_not_for_everybody(gateway: Gateway) -> None:
    assert urllib3.request("GET", f"{gateway.url}/metrics", retries=False).status == 404


@pytest.mark.services
def test_no_request_fails_when_a_server_is_stopped(gateway: Gateway) -> None:
    statuses: list[int] = []
    stopped = threading.Event()

    def ask() -> None:
        while not stopped.is_set():
            statuses.append(submit(gateway.url))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        eventually(lambda: len(statuses) >= 20, 60, lambda: str(statuses[-5:]))
        gateway.servers[0].send_signal(signal.SIGTERM)
        assert gateway.servers[0].wait(30) == 0
        before = len(statuses)
        eventually(lambda: len(statuses) >= before + 20, 60, lambda: str(statuses[-5:]))
    finally:
        stopped.set()
        asking.join(30)

    assert set(statuses) == {201}
