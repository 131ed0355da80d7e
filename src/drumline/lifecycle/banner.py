"""The text that `drumline dev` prints when it is ready."""

import shlex
import shutil
import sys
from pathlib import Path

from msgspec import Struct

from drumline._version import __version__
from drumline.worker.executors import pdf

UVX_FOLDERS = frozenset({"archive-v0", "builds-v0", "environments-v2"})
"""Where `uvx` keeps environments: the command is on the PATH of this process, and not on that of its user."""


class Ready(Struct, frozen=True, kw_only=True):
    """The facts of the banner."""

    url: str
    key: str | None
    """The key, unless the person gave it: they know it, and terminals are recorded."""
    key_file: Path
    store: str
    names: tuple[str, ...]
    is_found: bool = True
    """Whether commands on this machine find this server by themselves."""
    is_demo: bool = False
    """Whether it shows something by itself already."""


def banner(ready: Ready) -> str:
    """Return the lines to print."""
    lines = [f"Drumline {__version__} is ready.", "", f"  API    {ready.url}"]
    if ready.key is not None:
        # A fragment stays in the browser: no server, proxy or log sees it.
        lines += [f"  Open   {ready.url}/#key={ready.key}", f"  Key    {ready.key}   (kept in {ready.key_file})"]
    lines.append(f"  Docs   {ready.url}/docs/")
    lines += [f"  Store  {ready.store}", f"  Tasks  {', '.join(ready.names)}"]
    if pdf.NAME not in ready.names:
        lines.append(f"         ({pdf.NAME} needs: pip install 'drumline[pdf]')")
    lines.append("")
    if "shell" in ready.names:
        lines += ["Try it:", f"  {_curl(ready.url, ready.key or '$DRUMLINE_API_KEY')}"]
        if ready.is_found:
            lines.append(f"  {_program()} submit shell --arg shell='echo hello' --wait")
    if ready.is_found and not ready.is_demo:
        lines.append(f"  {_program()} demo     (fills every screen with the work of a small shop)")
    if not ready.is_found:
        lines.append(f"Another server on this data folder was first: reach this one with --url {ready.url}")
    lines += ["", "Ctrl-C stops it; once more, without waiting for running tasks."]
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def _program() -> str:
    """Return how this very program is called from here."""
    if UVX_FOLDERS.intersection(Path(sys.prefix).parts):
        return "uvx drumline"
    if shutil.which("drumline"):
        return "drumline"
    program = Path(sys.executable).with_name("drumline")
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)


def _curl(url: str, key: str) -> str:
    body = '{"name": "shell", "payload": {"command": ["echo", "hello"]}}'
    header = f'"X-API-Key: {key}"' if key.startswith("$") else shlex.quote(f"X-API-Key: {key}")
    return f"curl {url}/api/v1/tasks -H {header} \\\n       -d {shlex.quote(body)}"
