"""`drumline doctor`: what is wrong with this installation, and what to do."""

import os
from typing import Annotated

import click

from drumline.cli.errors import ExitCode
from drumline.cli.options import Config, Data, Json, Url
from drumline.cli.output import print_json
from drumline.cli.parameters import Option
from drumline.cli.tables import tidy
from drumline.cli.terminal import painted

_SIGNS = {"ok": "ok", "note": "note", "warning": "WARNING", "problem": "PROBLEM"}
_COLOURS = {"ok": "green", "note": None, "warning": "yellow", "problem": "red"}


def doctor(
    strict: Annotated[bool, Option("--strict", help="Fail for warnings, too.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Show only what is wrong.")] = False,
    data: Data = None,
    url: Url = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Examine this installation and print what to repair.

    It looks at settings, clocks, backends, shards, schema, disk, port, workers and queues.
    Ends with status 1 if there is a problem. With a server named it examines the way there.
    """
    import asyncio

    import msgspec

    from drumline.lifecycle.doctor.examining import examine
    from drumline.observe.logging import set_up_logging
    from drumline.settings import Sources

    set_up_logging("error")
    flags = {"data": None if data is None else str(data), "url": url}
    findings = asyncio.run(examine(Sources(os.environ, flags=flags, config=config)))
    bad = [each for each in findings if each.severity in ({"problem", "warning"} if strict else {"problem"})]
    if as_json:
        print_json({"healthy": not bad, "findings": [msgspec.to_builtins(each) for each in findings]})
    else:
        shown = [each for each in findings if not quiet or each.severity in {"problem", "warning"}]
        for each in shown:
            sign = painted(f"{_SIGNS[each.severity]:<8}", _COLOURS[each.severity])
            click.echo(f"{sign} {tidy(each.text)}")
            if each.advice:
                click.echo(f"         {tidy(each.advice)}")
    if bad:
        raise click.exceptions.Exit(ExitCode.FAILED)
