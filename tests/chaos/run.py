"""A run from its start to its report."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import urllib3

from scripts.programs import missing
from tests.chaos.collecting import collect, faults_of
from tests.chaos.durable import send_missing_signals
from tests.chaos.durable_judge import judge_durable
from tests.chaos.events import judge_events
from tests.chaos.faults import Injector
from tests.chaos.installation import Installation, end_leftovers, mark_processes
from tests.chaos.judge import judge
from tests.chaos.report import report_of, write_report
from tests.chaos.state import RunState
from tests.chaos.witness import FAMILIES, OPERATIONS, Settings
from tests.evidence import checker, linearizable, trace, validate
from tests.faults.fleet import START_SECONDS, until

AT_ONCE = 3
TOLD = 20
SLACK = 0.005
"""Seconds that may pass between a change and the line that tells of it."""
SAVE_SECONDS = 60.0
UPGRADED_BY = 0.15
"""The share of the time after which the version before is upgraded, if that has not come by chance."""
END_SECONDS = 300.0
UNENDED = ("PENDING", "QUEUED", "PROCESSING")
SCHEDULES: tuple[dict[str, Any], ...] = ({"interval": 2}, {"cron": "*/3 * * * * *"})
OPERATIONS_PER_RESUME = 10_000_000


@dataclass
class Options:
    """What a run is started with, besides what its state keeps."""

    folder: Path
    rate: float = 30.0
    every: float = 5.0
    """Seconds between the starts of two faults, on average."""
    with_kafka: bool = True
    kinds: tuple[str, ...] = ()
    """Only these faults; empty for all."""


@dataclass
class Run:
    """An installation, a witness and an injector of faults."""

    state: RunState
    options: Options
    installation: Installation = field(init=False)
    injector: Injector = field(init=False)
    _witness: "subprocess.Popen[bytes] | None" = None

    def go(self) -> dict[str, Any]:
        """Do all of it, and return the report."""
        self._install()
        try:
            self._start()
            self._inject_all()
            self._repair()
            return self._judge()
        finally:
            self._stop_witness()
            self.installation.remove()

    def _install(self) -> None:
        """Start the services, on the data of a run that was killed if there are some."""
        state, folder = self.state, self.options.folder
        end_leftovers(folder)
        mark_processes(folder)
        kept = Path(state.postgres_folder) if state.postgres_folder else None
        self.installation = Installation(folder, kept, with_kafka=self.options.with_kafka)
        random = Random(f"{state.seed}-{state.resumes}")
        self.injector = Injector(self.installation, folder, state.epoch, random, state.faults, self.options.kinds)
        state.postgres_folder = str(self.installation.postgres_folder)
        if state.resumes:
            self.injector.note_resume()
        self._save()

    def _start(self) -> None:
        # A run that is resumed has its schema already, and may have been upgraded: it goes on in this version.
        is_before = (
            self.installation.before is not None and "upgrade" in self.injector.kinds() and not self.state.resumes
        )
        self.injector.is_migrated = not is_before
        self.installation.start(is_before=is_before)
        self._prepare()
        self._start_witness()
        self._save()
        say(f"started; not available here: {self.installation.skipped or 'nothing'}")

    def _prepare(self) -> None:
        """Set a limit, and create the schedules."""
        fleet = self.installation.fleet
        limit = {"task": "witnessed.limited", "max_concurrent": 3}
        fleet.ask("PUT", "/api/v1/limits/three", limit)
        for number, rule in enumerate(SCHEDULES):
            task = {"name": "witnessed.wait", "payload": {"seconds": 0.01}}
            status, body = fleet.ask("POST", "/api/v1/schedules", {"name": f"chaos-{number}", "task": task, **rule})
            assert status in {200, 201, 409}, body
        for schedule in fleet.get("/api/v1/schedules")["items"]:
            fleet.ask("POST", f"/api/v1/schedules/{schedule['id']}/resume")

    def _start_witness(self) -> None:
        state = self.state
        settings = Settings(
            servers=tuple(api.url for api in self.installation.fleet.apis),
            epoch=state.epoch,
            seed=f"{state.seed}-{state.resumes}",
            rate=self.options.rate,
            first=state.resumes * OPERATIONS_PER_RESUME,
        )
        command = [sys.executable, "-m", "tests.chaos.witness", str(self.options.folder)]
        seen = self._acknowledged()
        self._witness = subprocess.Popen([*command, msgspec.json.encode(settings).decode()])
        # The time under faults begins when requests are answered: a slow machine takes long to start a process.
        until(lambda: self._acknowledged() > seen, END_SECONDS)

    def _acknowledged(self) -> int:
        """Return how many operations of the witness were acknowledged."""
        operations = self.options.folder / OPERATIONS
        return operations.read_bytes().count(b'"phase":"ok"') if operations.exists() else 0

    def _stop_witness(self) -> None:
        if self._witness is not None:
            self._witness.send_signal(signal.SIGTERM)
            self._witness.wait(START_SECONDS)
            self._witness = None

    def _inject_all(self) -> None:
        """Inject faults until the time is over."""
        state, before = self.state, self.state.elapsed
        began = saved = time.monotonic()
        next_at = began + 1.0
        running: list[Future[bool]] = []
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fault") as injecting:
            while state.elapsed < state.minutes * 60:
                now = time.monotonic()
                state.elapsed = before + now - began
                running = [each for each in running if not _is_done(each)]
                if now >= next_at and len(running) < AT_ONCE:
                    is_late = state.elapsed > state.minutes * 60 * UPGRADED_BY and not self._has_families()
                    fault = ("upgrade", "all") if is_late else self.injector.choose()
                    running.append(injecting.submit(self.injector.inject, *fault))
                    next_at = now + self.options.every * self.injector.random.uniform(0.4, 1.6)
                self.injector.supervise()
                self._has_families()
                if now > saved + SAVE_SECONDS:
                    saved = now
                    self._save()
                    say(f"{state.elapsed / 60:.0f} minutes, {self.injector.count} faults")
                time.sleep(0.2)
            self.injector.is_over.set()
        for each in running:
            each.result()

    def _has_families(self) -> bool:
        """Tell whether there may be children of tasks by now: all processes know of them; then the witness is told."""
        said = self.options.folder / FAMILIES
        if not said.exists() and self.injector.is_migrated and self.installation.has_children_everywhere():
            said.touch()
        return said.exists()

    def _repair(self) -> None:
        """Wait until all is well again, stop new work, and wait until every task has ended."""
        self._save()
        self._stop_witness()
        fleet = self.installation.fleet
        began = time.monotonic()
        self.injector.finish_upgrade()
        self._patiently(lambda: _is_at_work(fleet.until_at_work), "the processes are not at work")
        for schedule in fleet.get("/api/v1/schedules")["items"]:
            fleet.ask("POST", f"/api/v1/schedules/{schedule['id']}/pause")
        send_missing_signals(fleet, fleet.tasks(*UNENDED))
        self._patiently(lambda: not fleet.tasks(*UNENDED), "tasks have not ended")
        say(f"all tasks have ended {time.monotonic() - began:.0f} seconds after the last fault")

    def _patiently(self, look: Callable[[], bool], what: str) -> None:
        """Wait for something, with fallen processes started again; what does not come shows in the verdict."""

        def looked() -> bool:
            self.injector.supervise()
            return look()

        try:
            until(looked, END_SECONDS)
        except AssertionError:
            say(f"{what} after {END_SECONDS:.0f} seconds")

    def _judge(self) -> dict[str, Any]:
        folder = self.options.folder
        lines = collect(self.installation.fleet, folder, self.state.epoch)
        trace.write(folder / "trace.jsonl", lines)
        judges = {"durable tasks": judge_durable(lines)} | other_judges(folder / "trace.jsonl")
        if self.installation.kafka is not None and not self.state.resumes:  # what it had goes when a run is killed
            judges["events in Kafka"] = judge_events(self.installation.kafka.broker, lines)
        report = report_of(self.state, self.injector, faults_of(folder), judge(lines), judges)
        write_report(folder, report)
        return report

    def _save(self) -> None:
        self.state.faults = self.injector.count
        self.state.save(self.options.folder)


def other_judges(path: Path) -> dict[str, Any]:
    """Return what the judges say that share no code with this run."""
    found = checker.judge(trace.read(path))
    said = f"{len(found.findings)} findings, {len(found.explanations)} repeats explained"
    judges = {"checker": {"good": not found.findings, "said": said, "findings": found.findings[:TOLD]}}
    return judges | {"linearizable": _linearizable(path), "lease specification": _specification(path)}


def _linearizable(path: Path) -> dict[str, Any]:
    try:
        verdict = linearizable.judge(path, slack=SLACK)
    except linearizable.JudgeMissing as error:
        return {"good": True, "said": f"not asked: {error}"}
    illegal = [msgspec.to_builtins(each) for each in verdict.illegal[:TOLD]]
    said = f"{verdict.verdict}: {verdict.partitions} histories of {verdict.operations} operations"
    undecided = [f"undecided: {each}" for each in verdict.undecided[:TOLD]]
    return {"good": not verdict.illegal and not undecided, "said": said, "findings": illegal + undecided}


def _specification(path: Path) -> dict[str, Any]:
    if absent := missing("tlc"):
        return {"good": True, "said": f"not asked: {absent}"}
    lines = list(trace.read(path))
    rejected = validate.validate(lines)
    said = f"{len(validate.histories(lines))} tasks compared, {len(rejected)} not allowed"
    return {"good": not rejected, "said": said, "findings": [str(each) for each in rejected[:TOLD]]}


def say(text: str) -> None:
    """Print a message."""
    print(f"[chaos] {text}", file=sys.stderr, flush=True)  # noqa: T201


def _is_done(fault: "Future[bool]") -> bool:
    """Tell whether a fault is over; what went wrong with it is raised."""
    if fault.done():
        fault.result()
    return fault.done()


def _is_at_work(wait: Callable[[float], None]) -> bool:
    try:
        wait(10.0)
    except (AssertionError, urllib3.exceptions.HTTPError):
        return False
    return True
