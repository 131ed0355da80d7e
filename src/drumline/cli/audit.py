"""Commands about the audit log."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, server_command
from drumline.cli.errors import ExitCode
from drumline.cli.options import Json
from drumline.cli.output import print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column
from drumline.cli.times import Toward, optional_moment

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("List, export and verify the audit log.")

COLUMNS = (
    Column("AT", "at", rank=9, is_time=True),
    Column("ACT", "act", rank=8),
    Column("PHASE", "phase", rank=7),
    Column("KEY_NAME", "key_name", rank=6, least=8),
    Column("TARGET", "target", rank=5, least=16),
    Column("REASON", "reason", rank=4, least=10),
    Column("ADDRESS", "address", rank=3),
    Column("TENANT", "tenant", rank=2, least=8),
    Column("PROBLEM", "problem", rank=1, least=10),
)


@list_command(app, "list", COLUMNS, empty="The audit log is empty.")
def list_audit(
    client: "ApiClient",
    act: Annotated[str | None, Option("--act", help="Only this act, such as queue.pause.")] = None,
    key: Annotated[
        str | None,
        Option("--key", help="Only what was done with this key, by its id.", metavar="ID", complete=completing.keys),
    ] = None,
    target: Annotated[str | None, Option("--target", help="Only what was about this path.")] = None,
    since: Annotated[
        str | None, Option("--since", help="Only from this time on: 1h, 2026-10-01.", metavar="TIME")
    ] = None,
    until: Annotated[str | None, Option("--until", help="Only before this time: today.", metavar="TIME")] = None,
    every: Annotated[bool, Option("--all", help="Include requests, not only their outcomes.")] = False,
    limit: Annotated[int, Option("--limit", help="How many at most.", min=1)] = 100,
) -> Any:
    """List who did what, newest first."""
    return client.pages(
        "/audit",
        limit=limit,
        act=act,
        key=key,
        target=target,
        since=optional_moment(since, flag="--since", toward=Toward.PAST),
        until=optional_moment(until, flag="--until", toward=Toward.PAST),
        all="true" if every else None,
    )


@server_command(app)
def export(
    client: "ApiClient",
    file: Annotated[
        Path | None, Option("--file", help="Write to this file, not to standard output.", metavar="FILE")
    ] = None,
) -> None:
    """Export the whole log, one row per line, with all that its verification needs."""
    pieces = client.stream("/audit/export")
    if file is None:
        for piece in pieces:
            sys.stdout.write(piece)
        return
    with file.open("w", encoding="utf-8") as written:
        written.writelines(pieces)
    say(f"The audit log is in {file}.")


@server_command(app)
def verify(
    client: "ApiClient",
    file: Annotated[
        Path | None, Argument(help="An exported log; the server's own if not given.", metavar="[FILE]")
    ] = None,
    expect: Annotated[
        list[str] | None,
        Option("--expect", help="A head that you kept, as TENANT=COUNT:HASH; the log must have passed through it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Verify the log by its hash chain, computed here: finds rows that were changed, inserted or removed."""
    if file is None:
        lines = _lines(client.stream("/audit/export"))
        chains = _verified(lines, expect or [])
    else:
        with file.open(encoding="utf-8") as written:
            chains = _verified(written, expect or [])
    if as_json:
        print_json({"is_sound": all(chain["fault"] is None for chain in chains), "chains": chains})
    for chain in () if as_json else chains:
        fault = chain["fault"]
        click.echo(f"{chain['tenant']}={chain['head']}  {'sound' if fault is None else 'NOT SOUND'}")
        if fault is not None:
            click.echo(f"  at row {fault['seq']}: {fault['what']}")
    if any(chain["fault"] for chain in chains):
        say("The audit log was changed.")
        raise click.exceptions.Exit(ExitCode.FAILED)


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text that comes in pieces."""
    rest = ""
    for piece in pieces:
        *lines, rest = (rest + piece).split("\n")
        yield from lines
    if rest:
        yield rest


def _verified(lines: Iterable[str], expected: list[str]) -> list[dict[str, Any]]:
    """Follow every chain of an export; one that ends without its head was cut off."""
    import json

    from drumline.core.audit import AuditHead, AuditRow, Verifier, parse_head
    from drumline.core.errors import Invalid

    kept = {}
    for text in expected:
        tenant, _, head = text.partition("=")
        kept[tenant] = parse_head(head, tenant, field="--expect")
    followed: dict[str, Verifier] = {}
    closed: dict[str, AuditHead] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            tenant = row["tenant"]
            verifier = followed.setdefault(tenant, Verifier(tenant, expected=kept.get(tenant)))
            if "head" in row:
                closed[tenant] = parse_head(row["head"], tenant, field="head")
            else:
                digest = bytes.fromhex(row.pop("hash"))
                verifier.follow([AuditRow(**row, hash=digest)])
        except (ValueError, KeyError, TypeError) as error:
            raise Invalid(f"line {number} is not of an exported audit log: {error}", field="file") from error
    for tenant in kept.keys() - followed.keys():
        followed[tenant] = Verifier(tenant, expected=kept[tenant])
    return [_verdict(verifier, closed.get(tenant)) for tenant, verifier in sorted(followed.items())]


def _verdict(verifier: Any, head: Any) -> dict[str, Any]:
    fault = verifier.close(head)
    return {
        "tenant": verifier.head.tenant,
        "rows": verifier.head.count,
        "head": str(verifier.head),
        "fault": None if fault is None else {"seq": fault.seq, "what": fault.what},
    }
