"""The screen of `drumline top`: which rows it shows, which one is chosen, and what a key asks for.

It talks to no server and no terminal: `press` returns what is to be done, and `lines` what is to be shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from drumline.cli.describing import error_line
from drumline.cli.overview import Overview, headline, rates_line, workers_line
from drumline.cli.tables import cut, relative, tidy
from drumline.cli.terminal import painted

SORTS: Final = {
    "name": lambda queue: str(queue["name"]),
    "queued": lambda queue: -queue["queued"],
    "processing": lambda queue: -queue["processing"],
    "oldest": lambda queue: queue["oldest_due_at"] or "~",
}
"""How queues can be sorted; those without a due task come last."""

KEYS: Final = {
    "queue": "p pause or resume",
    "failure": "r retry the latest   R retry all   a acknowledge",
    "task": "c cancel",
}
"""What can be done with the chosen row, besides opening it."""
GENERAL: Final = "↑ ↓ choose   o open   s sort   / filter   ? help   q quit"
HELP: Final = """\
↑ ↓  k j      choose a row             Tab  the next section
o  Enter      open it in the browser   u    update now
s             sort the queues          /    filter by a text; Esc ends it
q             quit                     ?    this help; any key ends it

On a queue    p   pause it, or resume it
On a failure  r   retry its latest task
              R   retry all its tasks
              a   acknowledge it
On a task     c   cancel it""".splitlines()

_UP: Final = ("\x1b[A", "\x1bOA", "k")
_DOWN: Final = ("\x1b[B", "\x1bOB", "j")
_ENTER: Final = ("\r", "\n")
_ESCAPE: Final = "\x1b"
_ERASE: Final = ("\x7f", "\x08")
_ACTS: Final = {
    ("queue", "p"): "pause",
    ("failure", "r"): "retry",
    ("failure", "R"): "retry all",
    ("failure", "a"): "acknowledge",
    ("task", "c"): "cancel",
}
_ASKED: Final = frozenset({"retry all", "cancel"})
"""What is asked for first, also where the server is not a production one."""


class Row(NamedTuple):
    """Something that can be chosen: a queue, a group of failures, or a running task."""

    kind: str
    name: str
    text: str
    item: dict[str, Any]
    colour: str | None = None

    @property
    def page(self) -> str:
        """Its page in the web interface."""
        return {"queue": "/queues/", "failure": "/failures/", "task": "/tasks/"}[self.kind] + quote(self.name, safe="")

    def __str__(self) -> str:
        """Return what it is, in words."""
        return f"{self.kind} {self.name}" if self.kind != "failure" else f"the failures {self.name}"


class Wanted(NamedTuple):
    """What a key asks for: an act on a row, or `quit`, `update` and `open`."""

    act: str
    row: Row | None = None


@dataclass
class Screen:
    """What is shown, and how the person has arranged it."""

    found: Overview
    production: str | None = None
    """The name of the server if it is a production one: then every change is asked for."""
    sort: str = "name"
    filter: str = ""
    message: str = ""
    is_typing: bool = False
    is_help: bool = False
    asked: Wanted | None = None
    """What waits for a yes."""
    chosen: tuple[str, str] | None = None
    """The kind and name of the chosen row: it stays chosen wherever it moves to."""
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.show(self.found)

    def show(self, found: Overview) -> None:
        """Take what was found now."""
        self.found = found
        rows = [*self._queues(), *self._failures(), *self._tasks()]
        word = self.filter.casefold()
        self.rows = [row for row in rows if word in f"{row.name} {row.text}".casefold()]
        if self.row is None:
            self.chosen = (self.rows[0].kind, self.rows[0].name) if self.rows else None

    @property
    def row(self) -> Row | None:
        """The chosen row."""
        return next((row for row in self.rows if (row.kind, row.name) == self.chosen), None)

    def press(self, key: str) -> Wanted | None:
        """Do what a key means for the screen; return what it asks of the server or the program."""
        self.message = ""
        if self.is_help:
            self.is_help = False
            return None
        if self.asked is not None:
            wanted, self.asked = self.asked, None
            self.message = "" if key == "y" else "Nothing was changed."
            return wanted if key == "y" else None
        if self.is_typing:
            self._type(key)
            return None
        return self._arrange(key) or self._act(key)

    def _arrange(self, key: str) -> Wanted | None:
        if key in _UP:
            self._move(-1)
        elif key in _DOWN:
            self._move(1)
        elif key == "\t":
            self._next_section()
        elif key == "s":
            names = list(SORTS)
            self.sort = names[(names.index(self.sort) + 1) % len(names)]
            self.show(self.found)
            self.message = f"Queues by {self.sort}."
        elif key == "/":
            self.is_typing = True
        elif key == "?":
            self.is_help = True
        elif key == _ESCAPE:
            self.filter = ""
            self.show(self.found)
        return {"q": Wanted("quit"), "u": Wanted("update")}.get(key)

    def _act(self, key: str) -> Wanted | None:
        row = self.row
        if row is None:
            return None
        if key == "o" or key in _ENTER:
            return Wanted("open", row)
        act = _ACTS.get((row.kind, key))
        if act is None:
            return None
        if act == "pause" and row.item["is_paused"]:
            act = "resume"
        if act in _ASKED or self.production is not None:
            self.asked = Wanted(act, row)
            return None
        return Wanted(act, row)

    def _type(self, key: str) -> None:
        """Take a key that belongs to the filter."""
        if key in _ENTER or key == _ESCAPE:
            self.is_typing = False
            self.filter = "" if key == _ESCAPE else self.filter
        elif key in _ERASE:
            self.filter = self.filter[:-1]
        elif key.isprintable():
            self.filter += key
        self.show(self.found)

    def _move(self, steps: int) -> None:
        row = self.row
        if row is not None:
            there = min(max(self.rows.index(row) + steps, 0), len(self.rows) - 1)
            self.chosen = (self.rows[there].kind, self.rows[there].name)

    def _next_section(self) -> None:
        kinds = list(dict.fromkeys(row.kind for row in self.rows))
        if self.chosen is not None and kinds:
            kind = kinds[(kinds.index(self.chosen[0]) + 1) % len(kinds)]
            self.chosen = next((row.kind, row.name) for row in self.rows if row.kind == kind)

    def _queues(self) -> Iterator[Row]:
        for queue in sorted(self.found["queues"], key=SORTS[self.sort]):
            text = (
                f"{tidy(queue['name'])[:28]:<30}{queue['queued']:>9,}{queue['processing']:>12,}{queue['pending']:>9,}"
                f"  {relative(queue['oldest_due_at']) or '-'}{'  paused' if queue['is_paused'] else ''}"
            )
            yield Row("queue", queue["name"], text, queue, "yellow" if queue["is_paused"] else None)

    def _failures(self) -> Iterator[Row]:
        for group in self.found["failures"]:
            text = f"{group['count']:<9,}{relative(group['last_at']) or '-':<14}{tidy(error_line(group))}"
            yield Row("failure", group["fingerprint"], text, group)

    def _tasks(self) -> Iterator[Row]:
        for task in self.found["slowest"]:
            text = f"{relative(task['started_at']) or '-':<15}{task['id']:<38}{tidy(task['name'])}"
            yield Row("task", task["id"], text, task)

    def lines(self, width: int, height: int) -> list[str]:
        """Return the lines of the screen, none wider than the terminal, and no more than it has."""
        if self.is_help:
            return [cut(line, width) for line in HELP][:height]
        body = [cut(headline(self.found), width), cut(rates_line(self.found), width), workers_line(self.found)]
        at = 0
        for kind, title in _TITLES.items():
            rows = [row for row in self.rows if row.kind == kind]
            if rows or kind == "queue":
                body += ["", painted(cut(title, width), bold=True)]
            for row in rows:
                at = len(body) if row == self.row else at
                body.append(self._line(row, width))
            if not rows and kind == "queue":
                body.append("  No queues match." if self.filter else "  No queue has a task, and none is paused.")
        room = max(height - 2, 1)
        first = max(0, min(at - room + 1, len(body) - room))
        shown = body[first : first + room]
        return [*shown, *[""] * (room - len(shown) + 1), cut(self._last_line(), width)][-height:]

    def _line(self, row: Row, width: int) -> str:
        is_chosen = (row.kind, row.name) == self.chosen
        return painted(cut(f"{'>' if is_chosen else ' '} {row.text}", width), row.colour, bold=is_chosen)

    def _last_line(self) -> str:
        if self.asked is not None:
            where = f"{self.production} is production. " if self.production else ""
            return f"{where}{self.asked.act.capitalize()} {self.asked.row}? y/n"
        if self.is_typing:
            return f"filter: {self.filter}_"
        filtered = f"filter: {self.filter} (Esc)   " if self.filter else ""
        own = KEYS[self.row.kind] + "   " if self.row is not None else ""
        return self.message or f"{filtered}{own}{GENERAL}"


_TITLES: Final = {
    "queue": f"  {'QUEUE':<30}{'QUEUED':>9}{'PROCESSING':>12}{'PENDING':>9}  OLDEST DUE",
    "failure": f"  {'FAILURES':<9}{'LAST SEEN':<14}CAUSE",
    "task": f"  {'RUNNING SINCE':<15}{'TASK':<38}NAME",
}
