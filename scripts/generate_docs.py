"""Writes the reference pages that are generated from code, or with --check lists those that are out of date."""

import inspect
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from celery_pages import celery_page
from error_pages import error_pages
from event_pages import event_schema, events_page
from metric_pages import metrics_page
from path_pages import http_page
from sdk_pages import sdk_page, testing_page
from ui_types import types_file

from drumline.cli.errors import ExitCode
from drumline.cli.main import command
from drumline.cli.parameters import Group
from drumline.core.duration import format_duration
from drumline.settings.docs import field_docs, type_words
from drumline.settings.environment import COMMON_NAMES
from drumline.settings.fields import Settings
from drumline.settings.leaves import Leaf, leaves_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
ERRORS = ROOT / "docs" / "errors"
SCHEMAS = ROOT / "docs" / "schemas"
TYPES = ROOT / "ui" / "src" / "api" / "types.ts"
WIDTH = 100

SETTINGS_INTRODUCTION = """\
# Settings

<!-- Made by `make reference` from src/drumline/settings/fields.py: change it there. -->

Every setting has a default. The environment overrides the settings file, and flags override both. The file is
`drumline.yaml` in the working directory, or what `--config` or `DRUMLINE_CONFIG` names: a file, `ssm:/path/` in the
Parameter Store of AWS, or several separated by commas, of which the later wins. Settings marked *live* can be
changed in running processes, and for the whole fleet:
[Configuration](../how-to/configuration.md).

```yaml
port: 9000
store_url: postgresql://drumline@db.example/drumline
worker:
  concurrency: 100
  queues: [mail, reports]
  grace: 1m
```

A key that does not exist is refused, in the file and in the environment, and so is a value of the wrong type. Durations
are seconds or texts such as `1h30m`; lists in the environment are separated by commas. Secrets can also be read from a
file: the variable's name with `_FILE` behind it holds the file's path. Relative paths start at the working directory.
"""

CLI_INTRODUCTION = """\
# Command line

<!-- Made by `make reference` from src/drumline/cli: change it there. -->

Data is written to standard output and messages to standard error. `--json` prints one valid JSON document, `--jsonl`
one object per line; both have the shapes of the HTTP API. On a terminal lists are fitted to its width; in a pipe they
are whole. Whatever takes something away asks first; `--yes` is the only way around the question, and without a terminal
it is required. Commands find the server by `--url` or `DRUMLINE_URL`, or else through the data folder of a server on
this machine. The flags of the program (`--context`, `--yes`, `--quiet`) may be after the command as well.

## Exit status

| status | meaning |
|---|---|
"""


def main() -> None:
    """Write the pages, or compare them."""
    pages = {
        PAGES / "settings.md": settings_page(),
        PAGES / "cli.md": cli_page(),
        PAGES / "events.md": events_page(field_docs),
        PAGES / "metrics.md": metrics_page(),
        PAGES / "sdk.md": sdk_page(),
        PAGES / "testing.md": testing_page(),
        PAGES / "celery-tests.md": celery_page(),
        PAGES / "http.md": http_page(PAGES / "http.md"),
        SCHEMAS / "event-1.json": event_schema(),
        TYPES: types_file(),
    }
    pages |= {ERRORS / f"{name}.md": text for name, text in error_pages().items()}
    if "--check" not in sys.argv:
        for path, text in pages.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return
    stale = [str(path.relative_to(ROOT)) for path, text in pages.items() if not is_current(path, text)]
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; run `make reference`")


def is_current(path: Path, text: str) -> bool:
    """Tell whether a page says what the code says."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def settings_page() -> str:
    """Return the reference of all settings."""
    docs = dict(field_docs(Settings))
    rooms: dict[str, list[Leaf]] = {}
    for leaf in leaves_of(Settings):
        rooms.setdefault(leaf.path.rpartition(".")[0], []).append(leaf)
    parts = [SETTINGS_INTRODUCTION]
    for room, leaves in rooms.items():
        title = f"\n## `{room}`\n\n{docs[room]}\n" if room else ""
        rows = "\n".join(_setting(leaf, docs[leaf.path]) for leaf in leaves)
        parts.append(f"{title}\n| key | variable | type | default | meaning |\n|---|---|---|---|---|\n{rows}\n")
    return "".join(parts)


def _setting(leaf: Leaf, doc: str) -> str:
    others = [name for name, path in COMMON_NAMES.items() if path == leaf.path]
    variables = ", ".join(f"`{name}`" for name in (leaf.variable, *others))
    meaning = doc.replace("|", "\\|")
    kind = type_words(leaf.type) + (", live" if leaf.is_live else "")
    return f"| `{leaf.path}` | {variables} | {kind} | {_default(leaf.default)} | {meaning} |"


def _default(value: object) -> str:
    if value is None or value in ((), ""):
        return ""
    if isinstance(value, timedelta):
        return f"`{format_duration(value)}`"
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else f"`{value}`"


def cli_page() -> str:
    """Return the reference of all commands."""
    meanings = {code: _comment_of(code) for code in ExitCode}
    codes = "".join(f"| {code.value} | {meaning} |\n" for code, meaning in meanings.items())
    return CLI_INTRODUCTION + codes + "".join(_commands(command(), None))


def _comment_of(code: ExitCode) -> str:
    (line,) = (line for line in inspect.getsource(ExitCode).splitlines() if line.strip().startswith(f"{code.name} = "))
    return line.partition("# ")[2]


def _commands(command: Any, parent: Any) -> Iterator[str]:
    name = command.name or "drumline"
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=WIDTH)
    level = "##" if parent is None or parent.parent is None else "###"
    yield f"\n{level} `{context.command_path}`\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    for child in command.all.values() if isinstance(command, Group) else ():
        yield from _commands(child, context)


if __name__ == "__main__":
    main()
