"""Commands about API keys."""

from typing import Annotated, Any

import typer

from drumline.cli.options import Fields, Json, Jsonl, Key, Reason, Url, Wide, Yes
from drumline.cli.output import Form, confirm, print_json, print_list, say
from drumline.cli.tables import Column
from drumline.cli.times import Toward, span_of

app = typer.Typer(help="Make, look at, and take back API keys.", no_args_is_help=True, rich_markup_mode=None)


def _state(key: dict[str, Any]) -> str:
    if key["revoked_at"]:
        return "revoked"
    return "enabled" if key["enabled"] else "disabled"


COLUMNS = (
    Column("ID", lambda key: key["id"], rank=9),
    Column("NAME", lambda key: key["name"], rank=8, least=10),
    Column("STATE", _state, rank=7),
    Column("ROLE", lambda key: key["role"], rank=6),
    Column("TENANT", lambda key: key["tenant"], rank=5, least=8),
    Column("PREFIX", lambda key: key["prefix"], rank=4),
    Column("LAST USED", lambda key: key["last_used_at"], rank=3, is_time=True),
    Column("EXPIRES", lambda key: key["expires_at"], rank=2, is_time=True),
    Column("USES", lambda key: key["uses"], rank=1),
)

Id = Annotated[str, typer.Argument(help="The key's id.", metavar="ID", show_default=False)]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What people call it.", metavar="NAME", show_default=False)],
    role: Annotated[
        str, typer.Option("--role", help="What it may do: admin, operator, submitter, worker or viewer.")
    ] = "submitter",
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Whose it is; your own tenant if not given, * for everybody's.")
    ] = None,
    scopes: Annotated[
        list[str] | None, typer.Option("--scope", help="A permission of its role to keep, such as tasks:read.")
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="Names of tasks it is meant for, such as 'shop.*'.")
    ] = None,
    queues: Annotated[
        list[str] | None, typer.Option("--queue", help="Queues it is meant for, such as 'mail*'.")
    ] = None,
    rate_limit: Annotated[str | None, typer.Option("--rate-limit", help="How often it may ask: 100/60s.")] = None,
    expires_in: Annotated[
        str | None, typer.Option("--expires-in", help="When it ends: 90d, 2027-01-01.", metavar="TIME")
    ] = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Make a key. It is printed once, and nobody can tell it again."""
    from drumline.cli.client import connect

    body = {
        "name": name,
        "role": role,
        "tenant": tenant,
        "scopes": scopes or [],
        "names": names or [],
        "queues": queues or [],
        "rate_limit": rate_limit,
        "expires_in": None if expires_in is None else span_of(expires_in, flag="--expires-in", toward=Toward.FUTURE),
    }
    _print_made(connect(url, api_key, reason=reason).post("/keys", body), as_json=as_json)


@app.command("list")
def list_keys(
    limit: Annotated[int, typer.Option("--limit", help="How many at most.", min=1)] = 100,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List keys, newest first, also those that open nothing any more."""
    from drumline.cli.client import connect

    keys = connect(url, api_key).pages("/keys", limit=limit)
    print_list(keys, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="There is no key but the first one.")


@app.command()
def get(id: Id, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Look at a key."""
    from drumline.cli.client import connect

    _print_kept(connect(url, api_key).get(f"/keys/{id}"), as_json=as_json)


@app.command()
def disable(id: Id, reason: Reason = None, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Let a key open nothing until it is enabled again."""
    from drumline.cli.client import connect

    _print_kept(connect(url, api_key, reason=reason).post(f"/keys/{id}/disable"), as_json=as_json)


@app.command()
def enable(id: Id, reason: Reason = None, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Let a disabled key open again."""
    from drumline.cli.client import connect

    _print_kept(connect(url, api_key, reason=reason).post(f"/keys/{id}/enable"), as_json=as_json)


@app.command()
def revoke(
    id: Id, reason: Reason = None, yes: Yes = False, as_json: Json = False, url: Url = None, api_key: Key = None
) -> None:
    """Let a key open nothing any more, for good. Every server refuses it within two seconds."""
    from drumline.cli.client import connect

    confirm(f"Revoke key {id} for good?", yes=yes)
    _print_kept(connect(url, api_key, reason=reason).post(f"/keys/{id}/revoke"), as_json=as_json)


@app.command()
def rotate(
    id: Id,
    overlap: Annotated[str, typer.Option("--overlap", help="How long the old key opens beside the new one.")] = "1h",
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Make a key in the place of another; both open until the overlap is over."""
    from drumline.cli.client import connect

    made = connect(url, api_key, reason=reason).post(f"/keys/{id}/rotate", {"overlap": overlap})
    _print_made(made, as_json=as_json)


@app.command()
def whoami(as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Tell whose key it is that commands use, and what it may do."""
    from drumline.cli.client import connect

    me = connect(url, api_key).get("/me")
    if as_json:
        print_json(me)
        return
    typer.echo(f"{me['name']}  {me['role']} of {'every tenant' if me['tenant'] == '*' else me['tenant']}")
    for permission in me["permissions"]:
        typer.echo(f"  {permission}")


def _print_made(made: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    say(f"Key {made['id']} ({made['role']} of {made['tenant']}). Keep it now: it is not shown again.")
    typer.echo(made["key"])


def _print_kept(key: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(key)
        return
    typer.echo(f"{key['id']}  {_state(key)}  {key['role']} of {key['tenant']}  {key['name']}")
