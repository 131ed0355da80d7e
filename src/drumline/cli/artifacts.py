"""Files that tasks made: what there is, and fetching it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from drumline.cli.moments import size
from drumline.cli.options import Fields, Json, Jsonl, Key, TaskId, Url, Wide
from drumline.cli.output import Form, print_list, say
from drumline.cli.tables import Column
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import Client

COLUMNS = (
    Column("NAME", lambda artifact: artifact["name"], rank=9, least=16),
    Column("SIZE", lambda artifact: size(artifact["size"]), rank=8),
    Column("TYPE", lambda artifact: artifact["content_type"], rank=7, least=10),
    Column("CREATED", lambda artifact: artifact["created_at"], rank=6, is_time=True),
)


def artifacts(
    id: TaskId,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List the files that a task made."""
    from drumline.cli.client import connect

    items = connect(url, api_key).get(f"/tasks/{id}/artifacts")["items"]
    print_list(items, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="The task has made no files.")


def download(
    id: TaskId,
    name: Annotated[
        str | None, typer.Argument(help="Which file, if there are several.", metavar="NAME", show_default=False)
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="Where to put it, - for standard output. [default: its name]", metavar="FILE"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Fetch a file that a task made."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    artifact = _wanted(client, id, name)
    data = client.fetch(f"/tasks/{id}/artifacts/{quote(artifact['name'], safe='')}")
    if output == "-":
        sys.stdout.buffer.write(data)
        return
    path = Path(output) if output else Path(Path(artifact["name"]).name)
    try:
        with path.open("wb" if force else "xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise Invalid(f"{path} is there already: name another with --output, or add --force") from error
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}") from error
    typer.echo(path)
    say(f"{size(len(data))}, {artifact['content_type']}")


def _wanted(client: "Client", id: str, name: str | None) -> dict[str, Any]:
    items: list[dict[str, Any]] = client.get(f"/tasks/{id}/artifacts")["items"]
    if not items:
        raise NotFound(f"task {id} has made no files")
    found = [item for item in items if name in {None, item["name"]}]
    if len(found) == 1:
        return found[0]
    names = ", ".join(item["name"] for item in items)
    if name is None:
        raise Invalid(f"task {id} has made several files: {names}")
    raise NotFound(f"task {id} has made no file {name}, but {names}")
