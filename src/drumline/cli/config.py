"""Commands about configuration: what is set and where, whether it can be, what there is to set, and the fleet's own."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, server_command
from drumline.cli.errors import ExitCode
from drumline.cli.options import Config, Fields, Json, Jsonl, Key, Reason, Timeout, Url, Wide
from drumline.cli.output import Form, print_json, print_list, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient
    from drumline.settings import Sources

app = group("Show, check and change the configuration.")

Version = Annotated[int | None, Option("--version", help="Only if this is the newest version.", metavar="N", min=0)]

VERSIONS = (
    Column("VERSION", "version", rank=9),
    Column("CHANGED_AT", "changed_at", rank=7, is_time=True),
    Column("CHANGED_BY", "changed_by", rank=6, least=8),
    Column("REASON", "reason", rank=4, least=10),
    Column(
        "SETTINGS",
        lambda item: "  ".join(f"{key}={_shown(value)}" for key, value in sorted(item["settings"].items())),
        rank=8,
        least=20,
    ),
)
SHOWN = (
    Column("KEY", "key", rank=9),
    Column("VALUE", lambda item: _shown(item["value"]), rank=8, least=12),
    Column("ORIGIN", "origin", rank=7, least=16),
    Column("LIVE", lambda item: "yes" if item["live"] else "", rank=3),
)


def _print_fleet(config: dict[str, Any]) -> None:
    say(f"Version {config['version']}." if config["settings"] else "Nothing is set for the whole fleet.")
    for key, value in sorted(config["settings"].items()):
        click.echo(f"{key}={_shown(value)}")


@app.add()
def show(
    every: Annotated[bool, Option("--all", help="Show defaults too.")] = False,
    fleet: Annotated[bool, Option("--fleet", help="Ask the server for the fleet's configuration too.")] = False,
    config: Config = None,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    timeout: Timeout = None,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Show what is set here, and where each value comes from. Secrets are hidden."""
    from drumline.settings.leaves import LEAVES, plain_value, value_at
    from drumline.settings.sources import DEFAULT

    runtime: dict[str, Any] | None = None
    if fleet:
        from drumline.cli.client import connect

        runtime = connect(url, api_key, timeout=timeout).get("/config")["settings"]
    loaded = _sources(config).load(runtime)
    items = [
        {
            "key": leaf.path,
            "value": plain_value(value_at(loaded.settings, leaf.path)),
            "origin": loaded.origins.get(leaf.path, DEFAULT),
            "live": leaf.is_live,
        }
        for leaf in LEAVES.values()
        if every or leaf.path in loaded.origins
    ]
    print_list(
        items,
        SHOWN,
        Form.of(as_json=as_json, as_jsonl=as_jsonl, wide=wide, fields=fields),
        nothing="Nothing is set: every value is a default.",
    )


@app.add()
def check(config: Config = None, as_json: Json = False) -> None:
    """Check everything that is set here, without starting anything."""
    found = [error.message for error in _sources(config).problems()]
    if as_json:
        print_json({"valid": not found, "problems": found})
    else:
        for problem in found:
            say(f"Error: {problem}")
    if found:
        raise click.exceptions.Exit(ExitCode.USAGE)
    if not as_json:
        click.echo("The configuration is valid.")


@app.add()
def docs(
    key: Annotated[
        str | None,
        Argument(help="A setting or a part of its name.", metavar="[KEY]", complete=completing.settings),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain what can be set."""
    from drumline.core.errors import NotFound
    from drumline.core.json_errors import suggestion
    from drumline.settings.docs import field_docs, type_words
    from drumline.settings.fields import Settings
    from drumline.settings.leaves import LEAVES, plain_value

    texts = dict(field_docs(Settings))
    found = [
        {
            "key": leaf.path,
            "variable": leaf.variable,
            "type": type_words(leaf.type).replace("`", ""),
            "default": plain_value(leaf.default),
            "live": leaf.is_live,
            "meaning": texts[leaf.path],
        }
        for leaf in LEAVES.values()
        if key is None or key in leaf.path
    ]
    if not found:
        raise NotFound(f"there is no setting {key}{suggestion(str(key), LEAVES)}", field="key")
    if as_json:
        print_json(found)
        return
    for item in found:
        live = ", live" if item["live"] else ""
        click.echo(f"{item['key']}  ({item['type']}{live}; default {_shown(item['default']) or 'none'})")
        click.echo(f"  {item['meaning']}\n  {item['variable']}\n")


@server_command(app, "set", show=_print_fleet, reason=True)
def set_values(
    client: "ApiClient",
    pairs: Annotated[
        list[str],
        Argument(
            help="Such as worker.concurrency=20.",
            metavar="KEY=VALUE...",
            show_default=False,
            complete=completing.live_settings,
        ),
    ],
    reason: Reason = None,
    version: Version = None,
) -> Any:
    """Change settings of the whole fleet while it runs; they override what the processes were given.

    KEY@LABEL sets it for workers with that label only.
    """
    from drumline.core.errors import Invalid

    wanted: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign:
            raise Invalid(f"{pair} must be KEY=VALUE", field="set")
        wanted[key.strip()] = text.strip()
    return client.patch("/config", {"set": wanted, "version": version, "reason": reason})


@server_command(app, "unset", show=_print_fleet, reason=True)
def unset_values(
    client: "ApiClient",
    keys: Annotated[
        list[str],
        Argument(help="What to unset.", metavar="KEY...", show_default=False, complete=completing.fleet_settings),
    ],
    reason: Reason = None,
    version: Version = None,
) -> Any:
    """Remove settings of the whole fleet; what the processes were given applies again."""
    return client.patch("/config", {"unset": keys, "version": version, "reason": reason})


@server_command(app, show=_print_fleet)
def get(client: "ApiClient") -> Any:
    """Show the settings of the whole fleet."""
    return client.get("/config")


@list_command(app, "history", VERSIONS, empty="Nothing was ever set.")
def history(
    client: "ApiClient",
    limit: Annotated[int, Option("--limit", "-n", help="How many versions.", min=1)] = 20,
) -> Any:
    """List the versions of the fleet's settings: when, by whom, why."""
    return client.pages("/config/history", limit=limit)


def _sources(config: str | None) -> "Sources":
    from drumline.settings import Sources

    return Sources(os.environ, config=config)


def _shown(value: object) -> str:
    """Return a value as people write it."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)
