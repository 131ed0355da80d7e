"""Commands about secrets. A value is never given on the command line, where other users see it, and never printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, segment, server_command
from drumline.cli.errors import ExitCode
from drumline.cli.options import Json, Yes
from drumline.cli.output import confirm, print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.streams import read_stdin, stdin_is_terminal
from drumline.cli.tables import Column
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Store secrets for tasks: passwords, tokens, keys.")

COLUMNS = (
    Column("NAME", "name", rank=9, least=10),
    Column("TENANT", "tenant", rank=6, least=8),
    Column("VERSION", "version", rank=7),
    Column("UPDATED_AT", "updated_at", rank=8, is_time=True),
    Column("CREATED_AT", "created_at", rank=5, is_time=True),
    Column("KEY_ID", "key_id", rank=4),
)

Name = Annotated[
    str, Argument(help="The secret's name.", metavar="NAME", show_default=False, complete=completing.secrets)
]


@server_command(
    app, "set", show=lambda secret: say(f"{secret['name']} is set (version {secret['version']})."), reason=True
)
def set_secret(
    client: "ApiClient",
    name: Name,
    file: Annotated[
        Path | None,
        Option("--file", help="Read the value from a file, as it is; - is standard input.", metavar="FILE"),
    ] = None,
) -> Any:
    """Set a secret: its value is typed at the terminal, or read from standard input or a file.

    One line break at the end of standard input is not part of the value.
    """
    return client.put(f"/secrets/{segment(name)}", {"value": _value(name, file)})


@list_command(app, "list", COLUMNS, empty="There is no secret.")
def list_secrets(
    client: "ApiClient",
    limit: Annotated[int, Option("--limit", help="How many at most.", min=1)] = 1000,
) -> Any:
    """List secrets by name; values are never shown."""
    return client.pages("/secrets", limit=limit)


@server_command(app, reason=True)
def delete(client: "ApiClient", name: Name, yes: Yes = False) -> None:
    """Delete a secret; tasks that refer to it fail when they run."""
    confirm(f"Delete the secret {name}?", yes=yes)
    client.delete(f"/secrets/{segment(name)}")
    say(f"{name} is deleted.")


@server_command(app, reason=True)
def rotate(client: "ApiClient", as_json: Json = False) -> None:
    """Encrypt all secrets again with the first of the server's two keys.

    Make a key with `new-key`, give every server both, the new one first, and start them again; then rotate, and take
    the old key away.
    """
    done = client.post("/secret-key/rotate")
    print_json(done) if as_json else _print_rotated(done)
    if done["unreadable"]:
        raise click.exceptions.Exit(ExitCode.FAILED)


@app.add("new-key")
def new_key() -> None:
    """Print a new key for DRUMLINE_SECRET_KEY; it is not stored."""
    from drumline.stores.sealing import new_key_text

    click.echo(new_key_text())


def _print_rotated(done: dict[str, Any]) -> None:
    count = done["secrets"] + done["signing_secrets"]
    say(
        f"{count:,} sealed anew with the key {done['key_id']}: {done['secrets']:,} secrets, "
        f"{done['signing_secrets']:,} of webhooks."
    )
    for what in done["unreadable"]:
        say(f"Error: {what} cannot be opened, its key is not here; keep the old key, or set it again")


def _value(name: str, file: Path | None) -> str:
    if file is not None and str(file) != "-":
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{file} cannot be read: {error}", field="--file") from error
    if stdin_is_terminal():
        value: str = click.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True, err=True)
        return value
    return read_stdin("the value").removesuffix("\n")
