"""Commands about secrets. A value never stands on the command line, where others see it, and is never printed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from drumline.cli.options import Fields, Json, Jsonl, Key, Reason, Url, Wide, Yes
from drumline.cli.output import Form, confirm, print_json, print_list, say
from drumline.cli.streams import read_stdin, stdin_is_terminal
from drumline.cli.tables import Column

app = typer.Typer(
    help="Keep what tasks need and nobody should see: passwords, tokens, keys.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

COLUMNS = (
    Column("NAME", lambda secret: secret["name"], rank=9, least=10),
    Column("TENANT", lambda secret: secret["tenant"], rank=6, least=8),
    Column("VERSION", lambda secret: secret["version"], rank=7),
    Column("SET", lambda secret: secret["updated_at"], rank=8, is_time=True),
    Column("CREATED", lambda secret: secret["created_at"], rank=5, is_time=True),
    Column("KEY", lambda secret: secret["key_id"], rank=4),
)

Name = Annotated[str, typer.Argument(help="The secret's name.", metavar="NAME", show_default=False)]


@app.command("set")
def set_secret(
    name: Name,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Read the value from a file, as it is; - is standard input.", metavar="FILE"),
    ] = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Set a secret: asked for at the terminal, or read from standard input or a file.

    One line break at the end of standard input is not part of the value.
    """
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    secret = client.put(f"/secrets/{_path(name)}", {"value": _value(name, file)})
    if as_json:
        print_json(secret)
    else:
        say(f"{secret['name']} is set (version {secret['version']}).")


@app.command("list")
def list_secrets(
    limit: Annotated[int, typer.Option("--limit", help="How many at most.", min=1)] = 1000,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List secrets by name; their values are shown to nobody."""
    from drumline.cli.client import connect

    secrets = connect(url, api_key).pages("/secrets", limit=limit)
    print_list(secrets, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="There is no secret.")


@app.command()
def delete(name: Name, reason: Reason = None, yes: Yes = False, url: Url = None, api_key: Key = None) -> None:
    """Delete a secret; tasks that refer to it fail when they run."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    confirm(f"Delete the secret {name}?", yes=yes)
    client.delete(f"/secrets/{_path(name)}")
    say(f"{name} is deleted.")


@app.command()
def rotate(reason: Reason = None, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Seal everything with the first of the server's two keys.

    Make a key with `new-key`, give every server both, the new one first, and start them again; then rotate, and take
    the old key away.
    """
    from drumline.cli.client import connect

    done = connect(url, api_key, reason=reason).post("/secret-key/rotate")
    if as_json:
        print_json(done)
    else:
        _tell(done)
    if done["unreadable"]:
        from drumline.cli.exits import ExitCode

        raise typer.Exit(ExitCode.FAILED)


@app.command("new-key")
def new_key() -> None:
    """Print a new key for DRUMLINE_SECRET_KEY; it is kept nowhere."""
    from drumline.stores.sealing import new_key_text

    typer.echo(new_key_text())


def _tell(done: dict[str, Any]) -> None:
    count = done["secrets"] + done["signing_secrets"]
    say(
        f"{count:,} sealed anew with the key {done['key_id']}: {done['secrets']:,} secrets, "
        f"{done['signing_secrets']:,} of webhooks."
    )
    for what in done["unreadable"]:
        say(f"Error: {what} cannot be opened, its key is not here; keep the old key, or set it again")


def _value(name: str, file: Path | None) -> str:
    from drumline.core.errors import Invalid

    if file is not None and str(file) != "-":
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{file} cannot be read: {error}", field="--file") from error
    if stdin_is_terminal():
        value: str = typer.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True, err=True)
        return value
    return read_stdin("the value").removesuffix("\n")


def _path(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
