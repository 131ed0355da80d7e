"""`drumline top`: the state of an installation, kept up to date, with keys to act on what is shown."""

import os
import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from drumline.cli.commands import segment, server_command
from drumline.cli.output import open_page
from drumline.cli.overview import overview_of
from drumline.cli.parameters import Option
from drumline.cli.streams import stdin_is_terminal
from drumline.cli.terminal import is_terminal, safe
from drumline.cli.top_screen import Row, Screen, Wanted
from drumline.core.errors import DrumlineError, Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

BY: Final = "by drumline top"
_BEGIN: Final = "\x1b[?1049h\x1b[?25l"
_END: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_CLEAR: Final = "\x1b[2K"
_CLEAR_BELOW: Final = "\x1b[J"
_KEY: Final = re.compile(r"\x1b[\[O][A-Z]|.", re.DOTALL)


@server_command()
def top(
    client: "ApiClient",
    every: Annotated[
        float, Option("--every", help="Seconds between two updates.", min=0.5, max=60.0, metavar="SECONDS")
    ] = 2.0,
) -> None:
    """Show the same as status, kept up to date; keys act on queues, failures and tasks.

    They pause and resume queues, retry failed tasks, cancel running ones, open each in the browser, sort and filter:
    press ? for the list. On a production server each change is asked for.
    """
    if not (is_terminal() and stdin_is_terminal()):
        raise Invalid("top needs a terminal: drumline status prints the same once")
    screen = Screen(overview_of(client), production=client.production)
    with _full_screen():
        _run(client, screen, every)


def _run(client: "ApiClient", screen: Screen, every: float) -> None:
    due = time.monotonic() + every
    while True:
        _draw(screen)
        pressed = _keys(max(due - time.monotonic(), 0.0))
        for key in pressed:
            wanted = screen.press(key)
            if wanted is not None and wanted.act == "quit":
                return
            if wanted is not None:
                screen.message = _done(client, wanted)
                due = 0.0
        if time.monotonic() >= due:
            _update(client, screen)
            due = time.monotonic() + every


def _update(client: "ApiClient", screen: Screen) -> None:
    """Look again; while the server is away, what was found last stays."""
    try:
        screen.show(overview_of(client))
    except DrumlineError as error:
        screen.message = error.message.splitlines()[0]


def _done(client: "ApiClient", wanted: Wanted) -> str:
    """Do what a key asked for; return what to tell."""
    row = wanted.row
    if row is None:
        return ""
    try:
        if wanted.act == "open":
            url = open_page(client.url, row.page)
            return f"Open {url}" if url else ""
        with client.confirmed():
            return _act(client, wanted.act, row)
    except DrumlineError as error:
        return error.message.splitlines()[0]


def _act(client: "ApiClient", act: str, row: Row) -> str:
    name = segment(row.name)
    match act:
        case "pause":
            client.post(f"/queues/{name}/pause", {"reason": BY})
            return f"Queue {row.name} is paused."
        case "resume":
            client.post(f"/queues/{name}/resume")
            return f"Queue {row.name} is running."
        case "retry":
            task: dict[str, Any] = client.get("/failures", fingerprint=row.name, limit=1)["items"][0]
            client.post(f"/failures/{task['id']}/retry", {})
            return f"Task {task['id']} runs again."
        case "retry all":
            asked = {"filter": {"fingerprint": row.name}, "reason": BY}
            bulk = client.post("/failures/retry", asked)
            return f"{bulk['total']:,} tasks run again: drumline bulk get {bulk['id']}"
        case "acknowledge":
            client.patch(f"/failures/groups/{name}", {"state": "acknowledged"})
            return f"The failures {row.name} are acknowledged."
        case _:
            client.post(f"/tasks/{row.name}/cancel", {"force": False})
            return f"Task {row.name} is cancelled, as soon as its worker hears of it."


def _draw(screen: Screen) -> None:
    size = os.get_terminal_size(sys.stdout.fileno())
    lines = [_CLEAR + safe(line, colours=True) for line in screen.lines(size.columns, size.lines)]
    _command(_HOME + "\r\n".join(lines) + _CLEAR_BELOW)


def _command(text: str) -> None:
    """Write to the terminal as it is: standard output lets no other commands than colours through."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding, errors="replace"))
    sys.stdout.buffer.flush()


@contextmanager
def _full_screen() -> Iterator[None]:
    """Let the terminal give each key at once, and bring back what it showed before."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        _command(_BEGIN)
        yield
    finally:
        _command(_END)
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _keys(seconds: float) -> list[str]:
    """Return the keys that were pressed within some seconds, if there were any; the first ends the waiting."""
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return []
    return _KEY.findall(os.read(sys.stdin.fileno(), 1024).decode(errors="replace"))
