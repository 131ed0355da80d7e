"""What the scripts of peers that run flows share: `SCRIPT '{"NAME": [COUNT, NUMBER], …}'`.

Each starts its peer, runs every flow once to warm up and then `ROUNDS` times, and replies with one line of JSON: its
version, and the median seconds of each flow.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from harness import PORTS

ROUNDS: Final = 3
READY_SECONDS: Final = 300.0
ANSWER_SECONDS: Final = 120.0
FOLDER: Final = Path(os.environ.get("PEER_TALLY_DIR", "."))
"""Where a peer may write."""
BIN: Final = Path(sys.executable).parent


def fibo(n: int) -> int:
    """Return a Fibonacci number, the slow way."""
    return n if n <= 1 else fibo(n - 1) + fibo(n - 2)


def main(distribution: str, run: Callable[[str, int, int], object]) -> None:
    """Measure `run(name, count, number)`, which returns when that flow has completed."""
    found: dict[str, Any] = {"version": metadata.version(distribution)}
    for name, (count, number) in json.loads(sys.argv[1]).items():
        seconds = []
        for _ in range(ROUNDS + 1):
            began = time.perf_counter()
            run(name, count, number)
            seconds.append(time.perf_counter() - began)
        found[name] = statistics.median(seconds[1:])
    sys.stdout.write(json.dumps(found) + "\n")


@contextmanager
def running(*commands: list[str]) -> Iterator[None]:
    """Keep programs running for the length of the block."""
    started = [subprocess.Popen(command, cwd=FOLDER, stdout=sys.stderr) for command in commands]
    try:
        yield
    finally:
        for program in started:
            program.terminate()
        for program in started:
            program.wait()


def ask(url: str, body: object = None, method: str = "GET", token: str | None = None) -> Any:
    """Return the JSON that the peer's server on our first port answers."""
    headers = {"content-type": "application/json"} | ({} if token is None else {"authorization": f"Bearer {token}"})
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"http://127.0.0.1:{PORTS[0]}{url}", data=data, headers=headers, method=method)
    with urlopen(request, timeout=ANSWER_SECONDS) as answer:
        return json.loads(answer.read() or b"null")
