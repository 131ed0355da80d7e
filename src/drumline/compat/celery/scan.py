"""Finds where a code base uses Celery, and says of each place whether it works on `drumline.compat.celery`.

It reads the syntax of the files and imports nothing, so that it can be run on any code.
"""

import ast
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

LARGEST_FILE: Final = 2 * 1024 * 1024
_LEFT_OUT: Final = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist"})


class Verdict(StrEnum):
    """What becomes of a use of Celery."""

    WORKS = "works"
    """It does the same."""
    DIFFERS = "differs"
    """It works, and not quite the same."""
    MISSING = "missing"
    """It has to be written another way."""


class Finding(Struct, frozen=True, kw_only=True):
    """One place in the code."""

    file: str
    line: int
    name: str
    verdict: Verdict
    note: str


class Unread(Struct, frozen=True, kw_only=True):
    """A file that could not be read."""

    file: str
    reason: str


class Report(Struct, frozen=True, kw_only=True):
    """All places in a code base."""

    files: int
    """How many files import Celery."""
    findings: tuple[Finding, ...]
    unread: tuple[Unread, ...] = ()


Rule = tuple[Verdict, str]
_COMPAT: Final = "drumline.compat."
_SAME: Final = (Verdict.WORKS, f"import it from {_COMPAT}celery")

MODULES: Final[dict[str, Rule]] = {
    "celery": _SAME,
    "celery.canvas": _SAME,
    "celery.exceptions": _SAME,
    "celery.result": _SAME,
    "celery.schedules": _SAME,
    "celery.signals": _SAME,
    "celery.states": _SAME,
    "celery.utils.log": _SAME,
    "celery.app.task": (Verdict.DIFFERS, "import Task from drumline.compat.celery"),
    "celery.contrib": (Verdict.MISSING, "Drumline has no counterpart"),
    "celery.bootsteps": (Verdict.MISSING, "workers have no steps of their own: use the lifespan of an app"),
    "celery.worker": (Verdict.MISSING, "the inside of Celery's worker has no counterpart"),
    "celery.backends": (Verdict.MISSING, "there is no result backend: results are kept with their tasks"),
    "celery.beat": (Verdict.MISSING, "a schedule of your own kind becomes calls of the HTTP API for schedules"),
    "celery.events": (Verdict.MISSING, "use Drumline's events (drumline events) or webhooks"),
    "celery.concurrency": (Verdict.MISSING, "tasks run in threads"),
    "django_celery_beat": (Verdict.MISSING, "keep schedules in Drumline (drumline schedules), which has an interface"),
    "django_celery_results": (Verdict.MISSING, "results are kept with their tasks: use the interface or the HTTP API"),
}
NAMES: Final[dict[str, Rule]] = {
    "StampingVisitor": (Verdict.MISSING, "no stamps: use headers"),
    "solar": (Verdict.MISSING, "schedules by the sun have no counterpart"),
    "SoftTimeLimitExceeded": (Verdict.DIFFERS, "never raised: an attempt is stopped at its time_limit"),
    "chunks": _SAME,
    "bootsteps": MODULES["celery.bootsteps"],
    "abstract": (Verdict.DIFFERS, "derive from Task and give it as base="),
}
SIGNALS: Final = frozenset({
    "before_task_publish", "after_task_publish", "task_received", "task_prerun", "task_postrun", "task_success",
    "task_failure", "task_retry", "worker_init", "worker_process_init", "worker_ready", "worker_process_shutdown",
    "worker_shutdown",
})  # fmt: skip
ATTRIBUTES: Final[dict[str, Rule]] = {
    "delay": (Verdict.WORKS, ""),
    "apply_async": (Verdict.WORKS, ""),
    "send_task": (Verdict.WORKS, ""),
    "si": (Verdict.WORKS, ""),
    "autodiscover_tasks": (Verdict.WORKS, ""),
    "config_from_object": (Verdict.WORKS, "settings of brokers and result backends are ignored"),
    "add_periodic_task": (Verdict.WORKS, "becomes a schedule when a worker starts; no beat process is needed"),
    "beat_schedule": (Verdict.WORKS, "becomes schedules when a worker starts; no beat process is needed"),
    "update_state": (Verdict.DIFFERS, "reports progress; there are no states of your own"),
    "add_to_chord": (Verdict.MISSING, "a chord that runs cannot grow: replace the task with a group"),
    "stamp": (Verdict.MISSING, "no stamps: use headers"),
    "revoke_by_stamped_headers": (Verdict.MISSING, "no stamps: cancel by tag with drumline tasks cancel --tag"),
    "inspect": (Verdict.MISSING, "use drumline workers list, or the HTTP API"),
    "broadcast": (Verdict.MISSING, "workers take no commands: use the settings, or drumline workers drain"),
    "rate_limit": (Verdict.DIFFERS, "holds over all workers together, not for each"),
    "purge": (Verdict.MISSING, "cancel tasks with drumline queues purge"),
    "worker_main": (Verdict.MISSING, "start workers with drumline worker"),
}
KEYWORDS: Final[dict[str, Rule]] = {
    "soft_time_limit": (Verdict.DIFFERS, "noted only: an attempt is stopped at its time_limit"),
    "acks_late": (Verdict.WORKS, "always so: a task whose worker died runs again"),
    "reject_on_worker_lost": (Verdict.WORKS, "always so"),
    "serializer": (Verdict.DIFFERS, "arguments and results travel as JSON, never pickled"),
    "compression": (Verdict.DIFFERS, "ignored: the transport compresses"),
    "exchange": (Verdict.DIFFERS, "ignored: name a queue"),
    "routing_key": (Verdict.DIFFERS, "ignored: name a queue"),
    "rate_limit": ATTRIBUTES["rate_limit"],
    "track_started": (Verdict.DIFFERS, "for all tasks or none: task_track_started in the configuration"),
    "producer": (Verdict.MISSING, "there is no producer or connection to hand over"),
    "connection": (Verdict.MISSING, "there is no producer or connection to hand over"),
}
_TASK_CALLS: Final = frozenset({"task", "shared_task", "periodic_task", "apply_async", "signature", "set", "send_task"})


def scan(path: Path) -> Report:
    """Return where Python files below a path use Celery."""
    findings: list[Finding] = []
    unread: list[Unread] = []
    count = 0
    for file in _files(path):
        shown = str(file.relative_to(path)) if path.is_dir() else file.name
        try:
            found = scan_text(_text(file), shown)
        except (SyntaxError, ValueError, OSError, RecursionError) as error:
            unread.append(Unread(file=shown, reason=str(error)))
            continue
        count += bool(found)
        findings += found
    return Report(files=count, findings=tuple(findings), unread=tuple(unread))


def scan_text(text: str, file: str) -> list[Finding]:
    """Return where one file uses Celery; nothing if it does not import it, nor has tasks that others do."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    imports = [found for node in nodes for found in _imports(node, file)]
    uses = [found for node in nodes for found in _uses(node, file, has_celery=bool(imports))]
    return sorted((*imports, *uses), key=lambda finding: finding.line)


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*.py")):
        parts = file.relative_to(path).parts[:-1]
        if not any(part in _LEFT_OUT or part.startswith(".") for part in parts):
            yield file


def _text(file: Path) -> str:
    if file.stat().st_size > LARGEST_FILE:
        raise ValueError(f"is larger than {LARGEST_FILE:,} bytes")
    return file.read_text(encoding="utf-8")


def _imports(node: ast.AST, file: str) -> Iterator[Finding]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if (rule := _rule_of_module(alias.name)) is not None:
                yield _finding(file, node.lineno, f"import {alias.name}", rule)
    if isinstance(node, ast.ImportFrom) and node.module and (rule := _rule_of_module(node.module)) is not None:
        for alias in node.names:
            yield _finding(
                file, node.lineno, f"{node.module}.{alias.name}", _rule_of_name(node.module, alias.name, rule)
            )


def _rule_of_module(module: str) -> Rule | None:
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        if (rule := MODULES.get(".".join(parts[:end]))) is not None:
            if _is_inside(module, end):
                return Verdict.MISSING, "the inside of Celery has no counterpart"
            return (Verdict.WORKS, f"import it from {_COMPAT}{module}") if rule is _SAME else rule
    return None


def _is_inside(module: str, known: int) -> bool:
    return known == 1 and module.startswith("celery.")


def _rule_of_name(module: str, name: str, rule: Rule) -> Rule:
    if module == "celery.signals" and name not in SIGNALS:
        return Verdict.MISSING, "this signal is never sent"
    inside = MODULES.get(f"{module}.{name}")
    return inside or NAMES.get(name) or rule


def _uses(node: ast.AST, file: str, *, has_celery: bool) -> Iterator[Finding]:
    match node:
        case ast.Attribute(value=ast.Attribute(attr="control"), attr=name) if name in ATTRIBUTES:
            yield _finding(file, node.lineno, f".control.{name}", ATTRIBUTES[name])
        case ast.Attribute(attr=("delay" | "apply_async") as name):
            yield _finding(file, node.lineno, f".{name}", ATTRIBUTES[name])
        case ast.Attribute(attr=name) if has_celery and name in ATTRIBUTES:
            yield _finding(file, node.lineno, f".{name}", ATTRIBUTES[name])
        case ast.Call(func=function, keywords=keywords) if has_celery and _last_name(function) in _TASK_CALLS:
            yield from _keywords(keywords, file)
        case _:
            pass


def _keywords(keywords: Sequence[ast.keyword], file: str) -> Iterator[Finding]:
    for keyword in keywords:
        rule = KEYWORDS.get(keyword.arg or "")
        if rule is not None:
            yield _finding(file, keyword.value.lineno, f"{keyword.arg}=", rule)


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _finding(file: str, line: int, name: str, rule: Rule) -> Finding:
    return Finding(file=file, line=line, name=name, verdict=rule[0], note=rule[1])
