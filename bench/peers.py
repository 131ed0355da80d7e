"""Measure other task queues on the same work, each in an environment of its own.

    python bench/peers.py --only huey,rq --quick

Environments are kept in `~/.cache/drumline-bench` (or `DRUMLINE_BENCH_CACHE`); remove a folder
there to get that peer's newest release again.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a script, it finds its room too

from bench.scale.meter import cpu_seconds
from bench.services import Postgres, Redis, free_ports, postgres, redis, resident_mb, stop_groups

SCRIPTS: Final = Path(__file__).parent / "peers"
WORKERS: Final = 2
WARM_UP: Final = 100
WARM_UPS: Final = 10
RATE: Final = 100
ENQUEUE_SECONDS: Final = 5.0
FLOW_SECONDS: Final = 5.0
FLOW_ROUNDS: Final = 3
PACED_SECONDS: Final = 20.0
QUICK: Final = 0.35  # the share of all that which a quick run does
LIMIT_SECONDS: Final = 20.0
SERVER_SECONDS: Final = 120.0  # within which the server of a peer has to be ready
SERVER_PORTS: Final = 12
POLL_SECONDS: Final = 0.01
GIST: Final = 800
STATISTICS_SECONDS: Final = 1.5
LOOPBACK_SENT: Final = Path("/sys/class/net/lo/statistics/tx_bytes")
SPENT: Final = "SELECT pg_current_wal_lsn() - '0/0', sum(xact_commit) FROM pg_stat_database"
STEPS: Final = 10
STEP_ROUNDS: Final = 3
THREADS: Final = 256  # the layout of a tally file: see peers/harness.py


class PeerFailed(Exception):
    """A peer did not do what it was asked to."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """What a peer has running beside its workers: in an environment of its own, started by the peer's script."""

    language: Literal["node", "programs"]
    needs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A task queue to compare with.

    `backlog` is about what two workers drain in ten seconds; `in_flight` is how many single
    submissions its producer keeps under way, by what was measured to be fastest.
    """

    needs: tuple[str, ...]
    backlog: int
    in_flight: int = 1
    language: Literal["python", "python3.12", "node", "go"] = "python"
    """What its script is written in; `python3.12` takes a newer Python than the one that measures, if it has to."""
    server: Server | None = None
    durable: int | None = None
    """Tasks of ten durable steps each that two workers do in about ten seconds; None if it has no steps."""
    is_ours: bool = False
    """Runs in the environment of this project, with an attendant beside the workers."""
    on_kill: str
    """What `kill -9` of a worker costs, by the peer's documentation with the settings used here."""


# The fastest follow ours: a machine may change its pace within a quarter of an hour.
PEERS: Final = {
    "drumline": Peer(
        needs=(), backlog=500_000, in_flight=4000, durable=8_000, is_ours=True,
        on_kill="nothing; runs again after 15 to 20 s",
    ),
    "bullmq": Peer(
        needs=("bullmq", "ioredis", "node@24"), backlog=150_000, in_flight=100, language="node",
        on_kill="nothing; runs again when its lock of 30 s has expired",
    ),
    "graphile-worker": Peer(
        needs=("graphile-worker", "node@24"), backlog=300_000, in_flight=16, language="node",
        on_kill="nothing; up to 5,000 that it had fetched run again after 4 hours",
    ),
    "pgqueuer": Peer(
        needs=("pgqueuer[asyncpg]", "uvloop"), backlog=200_000, in_flight=16,
        on_kill="nothing; runs again when its heartbeat is too old",
    ),
    "river": Peer(
        needs=("github.com/riverqueue/river", "github.com/riverqueue/river/riverdriver/riverpgxv5"), backlog=200_000,
        in_flight=16, language="go", on_kill="nothing; runs again after an hour",
    ),
    "awa": Peer(
        needs=("awa-pg", "uvloop"), backlog=60_000, in_flight=16,
        on_kill="nothing; runs again when its heartbeat is too old",
    ),
    "pg-boss": Peer(
        # 12.38.0 asks for a release of rrule-temporal that could not be had when this was written.
        needs=("pg-boss@<12.38", "node@24"), backlog=60_000, in_flight=16, language="node",
        on_kill="nothing; runs again after 15 minutes",
    ),
    "dbos": Peer(
        needs=("dbos",), backlog=8_000, in_flight=16, durable=1_000,
        on_kill="nothing; runs again when the same executor starts again",
    ),
    "temporal": Peer(
        needs=("temporalio", "uvloop"), backlog=6_000, in_flight=50,
        server=Server(
            language="programs", needs=("go.temporal.io/server//cmd/server", "go.temporal.io/server//cmd/tools/sql")
        ),
        on_kill="nothing; runs again when its start-to-close timeout of 60 s is over",
    ),
    "restate": Peer(
        needs=("@restatedev/restate-sdk", "@restatedev/restate-sdk-clients", "node@24"), backlog=20_000, in_flight=50,
        language="node", server=Server(language="node", needs=("@restatedev/restate-server",)),
        on_kill="nothing; runs again within a second",
    ),
    "absurd": Peer(
        needs=("absurd-sdk", "absurdctl"), backlog=8_000, in_flight=16, durable=1_000,
        on_kill="nothing; runs again when its claim of 120 s is over",
    ),
    "celery": Peer(needs=("celery[redis]", "hiredis"), backlog=25_000, on_kill="what had begun"),
    "rq": Peer(needs=("rq", "hiredis"), backlog=8_000, on_kill="nothing; what had begun is listed as failed"),
    "dramatiq": Peer(
        needs=("dramatiq[redis]", "hiredis"), backlog=60_000, on_kill="nothing; runs again after its heartbeat timeout"
    ),
    "huey": Peer(needs=("huey[redis]", "hiredis"), backlog=60_000, on_kill="what had begun"),
    "arq": Peer(
        needs=("arq", "hiredis", "uvloop"), backlog=20_000, in_flight=50,
        on_kill="nothing; runs again after its timeout",
    ),
    "taskiq": Peer(
        needs=("taskiq", "taskiq-redis", "hiredis", "uvloop"), backlog=60_000, in_flight=50,
        on_kill="what it had taken from its list",
    ),
    "saq": Peer(
        needs=("saq[redis,hiredis]", "typing-extensions", "uvloop"), backlog=40_000, in_flight=50,
        on_kill="nothing; swept after its timeout",
    ),
    "oban": Peer(
        needs=("oban", "uvloop"), backlog=40_000, in_flight=16, language="python3.12",
        on_kill="nothing; runs again after 5 to 6 minutes",
    ),
    "procrastinate": Peer(
        needs=("procrastinate", "psycopg[binary,pool]", "uvloop"), backlog=8_000, in_flight=16,
        on_kill="nothing; stays stalled until your code retries it",
    ),
}  # fmt: skip
LEFT_OUT: Final = {
    "airflow, prefect": "they run flows, not single tasks: python -m bench.flows measures them",
    "windmill": "its server is in no package registry; its comparison is repeated by python -m bench.flows",
}
"""Systems that are compared with ours elsewhere, and why they are not measured here."""


def measure_peers(names: Sequence[str], quick: bool) -> dict[str, dict[str, Any]]:
    """Measure the peers called `names`; one that fails gives `{"error": …}`."""
    results: dict[str, dict[str, Any]] = {}
    with postgres() as database, redis() as broker:
        for name in names:
            try:
                results[name] = _Bench(name, database, broker).measure(QUICK if quick else 1.0)
            except (PeerFailed, OSError, subprocess.SubprocessError, LookupError, ValueError) as error:
                results[name] = {"error": str(error) or repr(error)}
            _say(f"{name}: {json.dumps(results[name])}")
    return results


def measure_steps(names: Sequence[str], quick: bool) -> dict[str, dict[str, Any]]:
    """Measure durable steps of those peers that have them, by turns: each `STEP_ROUNDS` times."""
    results: dict[str, dict[str, Any]] = {}
    with postgres() as database, redis() as broker:
        for _ in range(1 if quick else STEP_ROUNDS):
            for name in names:
                try:
                    found = _Bench(name, database, broker, steps=STEPS).measure_steps(QUICK if quick else 1.0)
                    kept = results.setdefault(name, {"version": found["version"], "rounds": []})
                    kept["rounds"].append(found["steps"])
                except (PeerFailed, OSError, subprocess.SubprocessError, LookupError, ValueError) as error:
                    results[name] = {"error": str(error) or repr(error)}
                _say(f"{name}: {json.dumps(results[name])}")
    for result in results.values():
        if "rounds" in result:
            for figure in result["rounds"][0]:
                result[figure] = statistics.median(each[figure] for each in result["rounds"])
    return results


class _Bench:
    """One peer on the rack."""

    def __init__(self, name: str, database: Postgres, broker: Redis, *, steps: int = 0) -> None:
        if name not in PEERS:
            raise PeerFailed(f"no such peer: {name} (there are {', '.join(PEERS)})")
        self._peer, self._name = PEERS[name], name
        self._database, self._broker, self._steps = database, broker, steps
        self._home = _environment(name, self._peer)
        self._server = _server_environment(name, self._peer)
        self._ports = free_ports(SERVER_PORTS) if self._peer.server else []
        self._attendants: list[int] = []

    def measure(self, share: float) -> dict[str, Any]:
        """Take every measurement, in two rounds of workers."""
        version = self._ask("version")
        _say(f"{self._name} {version}: enqueue and drain")
        with self._attendant():
            backlog = self._measure_backlog(share)
        _say(f"{self._name} {version}: latency and end to end")
        with self._attendant():
            return {"version": version, **backlog, **self._measure_flow(share)}

    def measure_steps(self, share: float) -> dict[str, Any]:
        """Fill a queue with tasks of several steps, then let workers at it; return steps per second and their cost."""
        version = self._ask("version")
        with self._attendant():
            count = int((self._peer.durable or 0) * share)
            queued = self._enqueue(count, 3 * LIMIT_SECONDS, self._peer.in_flight)["count"]
            with self._workers() as (tally, pids):
                _await(lambda: sum(each > 0 for each in _counts(tally)) >= WORKERS, "the workers did not start")
                done, began, spent = _completed(tally), time.time(), self._spent(pids, at_once=True)
                end = _last_completion(tally, queued * self._steps)
                steps = _completed(tally) - done
                rate = _rate(steps, end - began)
                return {"version": version, "steps": {"steps_per_s": rate, **_each(spent, self._spent(pids), steps)}}

    def _measure_backlog(self, share: float) -> dict[str, Any]:
        """Fill a queue with no workers about, then let them at it."""
        backlog = int(self._peer.backlog * share)
        seconds, in_flight = ENQUEUE_SECONDS * share, self._peer.in_flight
        singly = self._enqueue(backlog, seconds, 1)
        at_once = self._enqueue(backlog, seconds, in_flight) if in_flight > 1 else None
        in_bulk = self._ask("bulk", backlog, seconds)
        queued = sum(part["count"] for part in (singly, at_once, in_bulk) if part)
        if queued < backlog:
            queued += self._enqueue(backlog - queued, LIMIT_SECONDS, in_flight)["count"]
        with self._workers() as (tally, _):
            drain = _drain_rate(tally, queued)
        return {
            "enqueue_per_s": _rate(singly["count"], singly["seconds"]),
            "enqueue_concurrent_per_s": at_once and _rate(at_once["count"], at_once["seconds"]),
            "enqueue_bulk_per_s": in_bulk and _rate(in_bulk["count"], in_bulk["seconds"]),
            "drain_per_s": drain,
        }

    def _measure_flow(self, share: float) -> dict[str, Any]:
        """Submit to workers that stand ready: seldom, for the latency, then at full speed."""
        in_flight, seconds = self._peer.in_flight, FLOW_SECONDS * share
        with self._workers() as (tally, pids):
            warm = self._warm_up(tally)
            idle = resident_mb(pids[0])
            paced = self._ask("paced", RATE, PACED_SECONDS * share)
            before = warm + int(paced["count"])
            _await(lambda: _completed(tally) >= before, "tasks were lost")
            latency = _percentiles(_delays(tally))
            awaited = self._flow_rate(tally, seconds, 1) if in_flight > 1 else None
            done, spent = _completed(tally), self._spent(pids)
            rounds = sorted(self._flow_rate(tally, seconds, in_flight) for _ in range(FLOW_ROUNDS))
            costs = _each(spent, self._spent(pids), _completed(tally) - done)
        return {
            **costs,
            "on_kill": self._peer.on_kill,
            "end_to_end_per_s": statistics.median(rounds),
            "end_to_end_rounds": rounds,
            "end_to_end_awaited_per_s": awaited,
            "start_latency_ms": latency,
            "idle_rss_mb": idle,
        }

    def _spent(self, workers: Sequence[int], *, at_once: bool = False) -> dict[str, float]:
        """Return what has been spent so far: processor time of all processes, WAL and commits of the database, traffic.

        The traffic is that of the loopback address, headers included, whoever sent it.
        """
        if not at_once:
            time.sleep(STATISTICS_SECONDS)  # commits are counted with a delay
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = [*workers, *self._attendants, self._database.pid, self._broker.pid]
        wal, commits = self._database.execute(SPENT).strip().split("|")
        return {
            "processor_us": (ended.ru_utime + ended.ru_stime + cpu_seconds(running)) * 1e6,
            "wal_bytes": float(wal),
            "commits": float(commits),
            "sent_bytes": float(LOOPBACK_SENT.read_text()),
        }

    def _flow_rate(self, tally: Path, seconds: float, in_flight: int) -> float:
        """Return completions per second from the first submission to the last completion."""
        before = _completed(tally)
        flow = self._enqueue(10**9, seconds, in_flight)
        end = _last_completion(tally, before + flow["count"])
        return _rate(_completed(tally) - before, end - flow["began_ns"] / 1e9)

    def _enqueue(self, count: int, seconds: float, in_flight: int) -> dict[str, Any]:
        """Submit single tasks, `in_flight` of them at once."""
        return dict(self._ask("enqueue", count, seconds, in_flight))

    def _reset(self) -> None:
        """Empty Redis, make the database anew and let the peer set itself up."""
        self._broker.flush()
        self._database.recreate("peer")
        self._run("setup")

    def _warm_up(self, tally: Path) -> int:
        """Submit until every worker has done something, and return how many tasks that took."""
        submitted = 0
        for _ in range(WARM_UPS):
            submitted += self._enqueue(WARM_UP, LIMIT_SECONDS, 1)["count"]
            expected = submitted
            _await(lambda: _completed(tally) >= expected, "the workers did not warm up")  # noqa: B023
            if sum(count > 0 for count in _counts(tally)) >= WORKERS:
                break
        time.sleep(1.0)
        return submitted

    def _ask(self, *words: object) -> Any:
        """Run one command of the peer's script and return its reply."""
        told = self._run(*words)
        # A peer may have said something before, such as that a server was slow.
        return json.loads(told.splitlines()[-1]) if told else None

    def _run(self, *words: object) -> str:
        """Run one command of the peer's script and return what it said."""
        done = subprocess.run(
            self._command(*words),
            check=False,
            cwd=self._home,
            env=self._environ(),
            capture_output=True,
            text=True,
            timeout=3 * LIMIT_SECONDS,
        )
        if done.returncode != 0:
            raise PeerFailed(f"{words[0]}: {_gist(done.stderr)}")
        return done.stdout

    @contextmanager
    def _attendant(self) -> Iterator[None]:
        """Begin anew, and run what a deployment has running all the time beside its workers."""
        self._reset()
        if not self._peer.is_ours and self._peer.server is None:
            yield
            return
        with tempfile.TemporaryDirectory(prefix="drumline-attendant-") as name:
            folder = Path(name)
            with (folder / "log").open("wb") as log:
                attendant = self._start("attendant", folder, log)
            self._attendants = [attendant.pid]
            try:
                if self._peer.server is not None:
                    self._await_server(attendant, folder)
                yield
            finally:
                self._attendants = []
                stop_groups([attendant])

    def _await_server(self, attendant: subprocess.Popen[bytes], folder: Path) -> None:
        """Wait until the attendant has said that its server can be used."""
        deadline = time.monotonic() + SERVER_SECONDS
        while not (folder / "ready").exists():
            if attendant.poll() is not None or time.monotonic() > deadline:
                raise PeerFailed(f"its server did not start: {_gist((folder / 'log').read_text(errors='replace'))}")
            time.sleep(POLL_SECONDS)

    @contextmanager
    def _workers(self) -> Iterator[tuple[Path, list[int]]]:
        """Run the workers; give the folder of their tallies and their process ids."""
        with tempfile.TemporaryDirectory(prefix="drumline-tally-") as folder:
            tally = Path(folder)
            with (tally / "log").open("wb") as log:
                running = [self._start("worker", tally, log, number) for number in range(WORKERS)]
            try:
                yield tally, [worker.pid for worker in running]
            except PeerFailed as error:
                raise PeerFailed(f"{error}: {_gist((tally / 'log').read_text(errors='replace'))}") from error
            finally:
                stop_groups(running)

    def _start(self, role: str, tally: Path, log: IO[bytes], number: int = 0) -> subprocess.Popen[bytes]:
        command = self._command(role)
        environ = self._environ() | {"PEER_TALLY_DIR": str(tally), "PEER_NUMBER": str(number)}
        return subprocess.Popen(command, cwd=self._home, env=environ, stdout=log, stderr=log, start_new_session=True)

    def _command(self, *words: object) -> list[str]:
        python = [str(self._home / "bin" / "python"), str(SCRIPTS / f"{self._name}_peer.py")]
        commands = {
            "node": [_node(self._home), str(SCRIPTS / f"{self._name}.mjs")],
            "go": [str(self._home / self._name)],
        }
        return [*commands.get(self._peer.language, python), *map(str, words)]

    def _environ(self) -> dict[str, str]:
        urls = {"PEER_REDIS_URL": self._broker.url, "PEER_POSTGRES_URL": self._database.url("peer")}
        server = {"PEER_SERVER": str(self._server), "PEER_PORTS": ",".join(map(str, self._ports))}
        return os.environ | urls | server | {"PYTHONDONTWRITEBYTECODE": "1", "PEER_STEPS": str(self._steps)}


def _drain_rate(tally: Path, queued: int) -> float:
    """Return completions per second from when all workers are at work to the last one."""
    _await(lambda: sum(count > 0 for count in _counts(tally)) >= WORKERS, "the workers did not start")
    first, began = _completed(tally), time.time()
    end = _last_completion(tally, queued)
    return _rate(_completed(tally) - first, end - began)


def _last_completion(tally: Path, expected: int) -> float:
    """Wait for `expected` completions, or as long as we may, and return the time."""
    with suppress(PeerFailed):
        _await(lambda: _completed(tally) >= expected, "not all were completed")
    return time.time()


def _await(is_so: Callable[[], bool], complaint: str) -> None:
    """Wait until `is_so`, or raise with `complaint`."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise PeerFailed(complaint)
        time.sleep(POLL_SECONDS)


def _counts(tally: Path) -> list[int]:
    """Return the completions of each worker process."""
    return [int(sum(_cells(file, 0, THREADS))) for file in tally.glob("*.tally")]


def _completed(tally: Path) -> int:
    return sum(_counts(tally))


def _delays(tally: Path) -> list[float]:
    """Return the delays that all workers kept, in milliseconds."""
    files = list(tally.glob("*.tally"))
    kept = [int(sum(_cells(file, THREADS, 1))) for file in files]
    return [delay for file, n in zip(files, kept, strict=True) for delay in _cells(file, THREADS + 1, n)]


def _cells(file: Path, first: int, count: int) -> tuple[float, ...]:
    with file.open("rb") as cells:
        cells.seek(first * 8)
        content = cells.read(count * 8)
    return struct.unpack(f"{len(content) // 8}d", content[: len(content) // 8 * 8])


def _each(before: dict[str, float], after: dict[str, float], count: int) -> dict[str, float]:
    """Return what was spent on each of `count` tasks, from end to end."""
    return {f"{name}_each": round((after[name] - before[name]) / max(count, 1), 3) for name in before}


def _percentiles(delays: list[float]) -> dict[str, float]:
    ordered = sorted(delays)
    shares = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
    return {name: round(ordered[int(share * (len(ordered) - 1))], 2) for name, share in shares.items()}


def _rate(count: int, seconds: float) -> float:
    return round(count / max(seconds, 1e-9), 1)


def _environment(name: str, peer: Peer) -> Path:
    """Return the folder of the peer's own environment, making it if it is not there."""
    return Path(sys.prefix) if peer.is_ours else install_environment(name, peer.language, peer.needs)


def _server_environment(name: str, peer: Peer) -> Path | None:
    """Return the folder of the peer's server, making it if it is not there."""
    if peer.server is None:
        return None
    return install_environment(f"{name}-server", peer.server.language, peer.server.needs)


def install_environment(folder: str, language: str, needs: Sequence[str]) -> Path:
    """Return a folder of the cache that holds these packages, installing them if it does not."""
    cache = os.environ.get("DRUMLINE_BENCH_CACHE") or Path.home() / ".cache" / "drumline-bench"
    home = Path(cache).resolve() / folder
    command = [sys.executable, str(SCRIPTS / "install.py"), str(home), language, *needs]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise PeerFailed(_gist(done.stderr))
    return home


def _node(home: Path) -> str:
    """Return the Node.js of an environment that has one of its own, or that of the machine."""
    own = home / "node_modules" / ".bin" / "node"
    return str(own) if own.exists() else shutil.which("node") or "node"


def _gist(words: str) -> str:
    """Return the beginning and the end of what a program said: the cause is in one of them."""
    return words if len(words) < GIST else f"{words[: GIST // 2]} … {words[-GIST // 2 :]}"


def _say(words: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {words}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure what the command line names and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(PEERS), help="names, joined by commas")
    parser.add_argument("--quick", action="store_true", help="shorter measurements")
    parser.add_argument("--steps", action="store_true", help="durable steps, of the peers that have them")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers and workers are stopped
    names = options.only.split(",")
    if options.steps:
        print(json.dumps(measure_steps([name for name in names if PEERS[name].durable], options.quick), indent=2))
    else:
        print(json.dumps(measure_peers(names, options.quick), indent=2))


if __name__ == "__main__":
    main()
