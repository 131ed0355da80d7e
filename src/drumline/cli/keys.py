"""Commands about API keys and about people who are signed in with a browser."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, server_command
from drumline.cli.options import Yes
from drumline.cli.output import confirm, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column
from drumline.cli.times import Toward, span_of

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Create, list, rotate and revoke API keys.")
sign_ins = group("Sign people out of the web interface.")


def _state(key: dict[str, Any]) -> str:
    if key["revoked_at"]:
        return "revoked"
    return "enabled" if key["enabled"] else "disabled"


COLUMNS = (
    Column("ID", "id", rank=9),
    Column("NAME", "name", rank=8, least=10),
    Column("STATE", _state, rank=7),
    Column("ROLE", "role", rank=6),
    Column("TENANT", "tenant", rank=5, least=8),
    Column("PREFIX", "prefix", rank=4),
    Column("LAST_USED_AT", "last_used_at", rank=3, is_time=True),
    Column("EXPIRES_AT", "expires_at", rank=2, is_time=True),
    Column("USES", "uses", rank=1),
)

Id = Annotated[
    str, Argument(help="The key's id.", metavar="ID", show_default=False, complete=completing.keys, ids_of="keys")
]
User = Annotated[
    str,
    Argument(
        help="Who: key:ID, PROVIDER:SUBJECT as in the audit log, or * for everybody.",
        metavar="USER",
        show_default=False,
    ),
]


def _print_new(made: dict[str, Any]) -> None:
    say(f"Key {made['id']} ({made['role']} of {made['tenant']}). Keep it now: it is not shown again.")
    click.echo(made["key"])


def _print_key(key: dict[str, Any]) -> None:
    click.echo(f"{key['id']}  {_state(key)}  {key['role']} of {key['tenant']}  {key['name']}")


def _print_caller(me: dict[str, Any]) -> None:
    click.echo(f"{me['name']}  {me['role']} of {'every tenant' if me['tenant'] == '*' else me['tenant']}")
    for permission in me["permissions"]:
        click.echo(f"  {permission}")


@server_command(app, show=_print_new, reason=True)
def create(
    client: "ApiClient",
    name: Annotated[str, Argument(help="Its name.", metavar="NAME", show_default=False)],
    role: Annotated[
        str,
        Option(
            "--role",
            help="What it may do: admin, operator, submitter, worker or viewer.",
            complete=completing.of("admin", "operator", "submitter", "worker", "viewer"),
        ),
    ] = "submitter",
    tenant: Annotated[
        str | None, Option("--tenant", help="Whose it is; your own tenant if not given, * for everybody's.")
    ] = None,
    scopes: Annotated[
        list[str] | None, Option("--scope", help="A permission of its role to keep, such as tasks:read.")
    ] = None,
    names: Annotated[
        list[str] | None, Option("--name", help="Names of tasks it is meant for, such as 'shop.*'.")
    ] = None,
    queues: Annotated[list[str] | None, Option("--queue", help="Queues it is meant for, such as 'mail*'.")] = None,
    rate_limit: Annotated[str | None, Option("--rate-limit", help="How often it may ask: 100/60s.")] = None,
    expires_in: Annotated[
        str | None, Option("--expires-in", help="When it ends: 90d, 2027-01-01.", metavar="TIME")
    ] = None,
) -> Any:
    """Create an API key. It is printed once and cannot be shown again."""
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
    return client.post("/keys", body)


@list_command(app, "list", COLUMNS, empty="There is no key but the first one.")
def list_keys(
    client: "ApiClient", limit: Annotated[int, Option("--limit", help="How many at most.", min=1)] = 100
) -> Any:
    """List keys, newest first, disabled and revoked ones included."""
    return client.pages("/keys", limit=limit)


@server_command(app, show=_print_key)
def get(client: "ApiClient", id: Id) -> Any:
    """Show a key."""
    return client.get(f"/keys/{id}")


@server_command(app, show=_print_key, reason=True)
def disable(client: "ApiClient", id: Id) -> Any:
    """Disable a key until it is enabled again."""
    return client.post(f"/keys/{id}/disable")


@server_command(app, show=_print_key, reason=True)
def enable(client: "ApiClient", id: Id) -> Any:
    """Enable a disabled key."""
    return client.post(f"/keys/{id}/enable")


@server_command(app, show=_print_key, reason=True)
def revoke(client: "ApiClient", id: Id, yes: Yes = False) -> Any:
    """Revoke a key for good. Every server refuses it within two seconds."""
    confirm(f"Revoke key {id} for good?", yes=yes)
    return client.post(f"/keys/{id}/revoke")


@server_command(app, show=_print_new, reason=True)
def rotate(
    client: "ApiClient",
    id: Id,
    overlap: Annotated[str, Option("--overlap", help="How long the old key stays valid.")] = "1h",
) -> Any:
    """Replace a key by a new one; both are valid until the overlap ends."""
    return client.post(f"/keys/{id}/rotate", {"overlap": overlap})


@server_command(app, show=_print_caller)
def whoami(client: "ApiClient") -> Any:
    """Show the key that commands use, and its permissions."""
    return client.get("/me")


@server_command(sign_ins, "revoke", reason=True)
def sign_out(client: "ApiClient", user: User, yes: Yes = False) -> None:
    """End the sessions of a person in every browser. They can sign in again unless their key or account was removed."""
    confirm(f"Sign {'everybody' if user == '*' else user} out at every browser?", yes=yes)
    client.post("/sign-ins/revoke", {"user": user})
    say("Signed out; servers apply it within two seconds.")
