"""`drumline migrate-from`: what of a code base for another queue works on Drumline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from drumline.cli.commands import group
from drumline.cli.options import Json
from drumline.cli.output import print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.core.errors import NotFound

if TYPE_CHECKING:
    from drumline.compat.celery.scan import Report

app = group("Report what of code for another queue works on Drumline.")


@app.add("celery")
def celery(
    path: Annotated[Path, Argument(help="A file, or a folder with Python files.")],
    show_all: Annotated[bool, Option("--all", help="Show what works without a change, too.")] = False,
    as_json: Json = False,
) -> None:
    """Report where code uses Celery: what works on drumline.compat.celery, what differs and what is missing.

    Files are read, not imported.
    """
    from drumline.compat.celery.scan import scan

    if not path.exists():
        raise NotFound(f"there is no file or folder {path}", field="path")
    report = scan(path)
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(report))
    else:
        _print(report, show_all=show_all)


def _print(report: "Report", *, show_all: bool) -> None:
    counts = {"works": 0, "differs": 0, "missing": 0}
    for finding in report.findings:
        counts[finding.verdict] += 1
        if show_all or finding.verdict != "works":
            note = f": {finding.note}" if finding.note else ""
            click.echo(f"{finding.file}:{finding.line}: {finding.verdict.upper()} {finding.name}{note}")
    for unread in report.unread:
        say(f"{unread.file}: cannot be read: {unread.reason}")
    say(
        f"Files that use Celery: {report.files:,}. Places that work: {counts['works']:,}, that differ: "
        f"{counts['differs']:,}, that have to be written another way: {counts['missing']:,}."
    )
