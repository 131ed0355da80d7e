"""What was submitted in a world, and finding a task among it by its arguments."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.state import Status
from drumline.engine.engine import Engine
from drumline.ports.store import TaskFilter

PAGE: Final = 200
MOST_SHOWN: Final = 20
"""Tasks that a message lists."""
LONGEST_SHOWN: Final = 120
"""Characters of a task's arguments in a message."""


class Submission(Struct, frozen=True, kw_only=True):
    """A task that was submitted: by the test, by another task, or by a schedule."""

    id: TaskId
    name: str
    arguments: Any
    """Its arguments as JSON: of a function a dictionary by name."""
    status: Status

    def __str__(self) -> str:
        shown = msgspec.json.encode(self.arguments).decode()
        if isinstance(self.arguments, dict):
            shown = ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in self.arguments.items())
        if len(shown) > LONGEST_SHOWN:
            shown = shown[: LONGEST_SHOWN - 1] + "…"
        return f"{self.name}({shown}): {self.status.value}"


async def read_submissions(engine: Engine, name: str | None = None) -> list[Submission]:
    """Return all tasks in the order of their submission; of one name or of all."""
    found: list[Submission] = []
    cursor = None
    now = engine.clock.now()
    while True:
        page = await engine.queries.list_tasks(TaskFilter(name=name), limit=PAGE, cursor=cursor, payload=True)
        found += [
            Submission(id=view.id, name=view.lane.name, arguments=_decoded(view.payload), status=view.status(now))
            for view in page.items
        ]
        cursor = page.next_cursor
        if cursor is None:
            return found[::-1]


def find_submission(known: Sequence[Submission], name: str, payload: Raw) -> Submission:
    """Return the last task of this name and payload, or raise `AssertionError` with what was submitted instead."""
    wanted = _decoded(payload)
    for each in reversed(known):
        if each.name == name and each.arguments == wanted:
            return each
    missing = Submission(id=TaskId(""), name=name, arguments=wanted, status=Status.PENDING)
    raise AssertionError(_message(str(missing).rpartition(":")[0], known, name))


def _message(missing: str, known: Sequence[Submission], name: str) -> str:
    same = [each for each in known if each.name == name]
    others = [each for each in known if each.name != name]
    lines = [f"{missing} was not submitted."]
    if not known:
        return lines[0] + " Nothing was submitted at all."
    if same:
        lines += [f"{name} was submitted with other arguments:", *_listed(same)]
    else:
        lines += [f"{name} was not submitted at all."]
    if others:
        lines += ["Other tasks that were submitted:", *_listed(others)]
    return "\n".join(lines)


def _listed(tasks: Sequence[Submission]) -> list[str]:
    lines = [f"  {each}" for each in tasks[:MOST_SHOWN]]
    return lines + ([f"  and {len(tasks) - MOST_SHOWN:,} more"] if len(tasks) > MOST_SHOWN else [])


def _decoded(payload: Raw | None) -> Any:
    try:
        return None if payload is None else msgspec.json.decode(payload)
    except msgspec.DecodeError as error:
        raise Invalid(f"is not JSON: {error}", field="payload") from error
