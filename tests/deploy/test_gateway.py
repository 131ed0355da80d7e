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
from uuid import uuid4

import pytest
import urllib3
import yaml

from drumline.api.events import BEAT_SECONDS
from drumline.api.operation import Info
from tests.black_box.server import eventually
from tests.deploy.files import DEPLOY, ROOT, run
from tests.harness.programs import free_port, path_of

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


def test_the_gateway_may_open_as_many_files_as_it_wants() -> None:
    (connections,) = re.findall(r"^ *maxconn (\d+)", FILE.read_text(), flags=re.MULTILINE)
    gateway = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["gateway"]

    assert gateway["ulimits"]["nofile"] > 2 * int(connections) + 100


def test_haproxy_understands_the_file() -> None:
    run(path_of("haproxy"), "-c", "-f", str(FILE))


def render(port: int, servers: list[int]) -> str:
    """Return the file with addresses of this machine in place of those of the containers."""
    text = re.sub(r"maxconn \d+", "maxconn 100", FILE.read_text())  # this machine may allow few open files
    text, binds = re.subn(r"bind :8080", f"bind 127.0.0.1:{port}", text)
    here = "\n".join(f"    server api{number} 127.0.0.1:{number}" for number in servers)
    text, templates = re.subn(r"^ *server-template .*$", here, text, flags=re.MULTILINE)
    assert (binds, templates) == (1, 1)
    return text


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    haproxy = path_of("haproxy")
    port, ports = free_port(), [free_port(), free_port()]
    config = tmp_path / "haproxy.cfg"
    config.write_text(render(port, ports))
    composed = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["api"]["environment"]
    environment = {
        "DRUMLINE_API_KEY": KEY,
        "DRUMLINE_DATA": str(tmp_path / "data"),
        "DRUMLINE_DRAIN_DELAY": composed["DRUMLINE_DRAIN_DELAY"],
        "PATH": "",
    }
    drumline = [sys.executable, "-m", "drumline.cli.main"]
    with ExitStack() as stack, (tmp_path / "log").open("wb") as log:
        subprocess.run([*drumline, "migrate"], env=environment, cwd=tmp_path, check=True, stderr=log, timeout=60)

        def start(*command: str) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=log, stderr=log)
            stack.callback(end, process)
            return process

        # The servers first: then the gateway sends requests to both from the beginning.
        servers = [start(*drumline, "api", "--port", str(one)) for one in ports]
        eventually(lambda: all(answers(f"http://127.0.0.1:{one}") for one in ports), 30, (tmp_path / "log").read_text)
        start(haproxy, "-db", "-f", str(config))
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: answers(url), 30, (tmp_path / "log").read_text)
        yield Gateway(url, servers)


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait(30)


def answers(url: str) -> bool:
    try:
        return urllib3.request("GET", f"{url}/readyz", retries=False, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def submit(url: str, *, is_repeatable: bool = True) -> int:
    headers = {"X-API-Key": KEY} | ({"Idempotency-Key": str(uuid4())} if is_repeatable else {})
    reply = urllib3.request(
        "POST", f"{url}/api/v1/tasks", headers=headers, json={"name": "nobody"}, retries=False, timeout=20
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
def test_an_address_that_asks_too_often_without_a_key_is_stopped_at_the_gateway(gateway: Gateway) -> None:
    pool = urllib3.PoolManager()
    statuses = [pool.request("GET", f"{gateway.url}/api/v1/tasks", retries=False).status for _ in range(310)]
    stopped = pool.request("GET", f"{gateway.url}/api/v1/tasks", retries=False)

    assert set(statuses[:250]) == {401}, "from the server, as long as it may ask"
    assert stopped.status == 429
    assert stopped.headers["retry-after"] == "10"
    assert stopped.json()["code"] == "rate_limited"
    assert pool.request("GET", f"{gateway.url}/readyz", retries=False).status == 200, "probes are not counted"
    assert submit(gateway.url) == 201, "and neither is who has a key"


@pytest.mark.services
@pytest.mark.parametrize("is_repeatable", [True, False], ids=["repeatable", "not repeatable"])
def test_nothing_fails_when_a_server_is_stopped(gateway: Gateway, is_repeatable: bool) -> None:
    statuses: list[int] = []
    stopped = threading.Event()

    def ask() -> None:
        while not stopped.is_set():
            statuses.append(submit(gateway.url, is_repeatable=is_repeatable))

    clients = [threading.Thread(target=ask) for _ in range(8)]
    for client in clients:
        client.start()
    try:
        eventually(lambda: len(statuses) >= 100, 60, lambda: str(statuses[-5:]))
        gateway.servers[0].send_signal(signal.SIGTERM)
        assert gateway.servers[0].wait(30) == 0
        before = len(statuses)
        eventually(lambda: len(statuses) >= before + 100, 60, lambda: str(statuses[-5:]))
    finally:
        stopped.set()
        for client in clients:
            client.join(30)

    assert set(statuses) <= {200, 201}  # 200 if the first server had stored it already
