"""Commands about tenants."""

from typing import Annotated, Any

import typer

from drumline.cli.options import Fields, Json, Jsonl, Key, Reason, Url, Wide
from drumline.cli.output import Form, print_json, print_list
from drumline.cli.tables import Column

app = typer.Typer(help="Make tenants, and set how much they may have.", no_args_is_help=True, rich_markup_mode=None)

COLUMNS = (
    Column("NAME", lambda tenant: tenant["name"], rank=9, least=10),
    Column("QUEUED", lambda tenant: tenant["quotas"]["queued"], rank=8),
    Column("PAYLOAD BYTES", lambda tenant: tenant["quotas"]["payload_bytes"], rank=7),
    Column("SCHEDULES", lambda tenant: tenant["quotas"]["schedules"], rank=6),
    Column("WEIGHT", lambda tenant: tenant["quotas"].get("weight"), rank=4),
    Column("CREATED", lambda tenant: tenant["created_at"], rank=5, is_time=True),
)

NONE = "none"

Name = Annotated[str, typer.Argument(help="The tenant's name.", metavar="NAME", show_default=False)]
Queued = Annotated[
    str | None, typer.Option("--queued", help="Tasks that may wait to be run; none for as many as it likes.")
]
PayloadBytes = Annotated[
    str | None, typer.Option("--payload-bytes", help="Bytes of JSON in the payload of a task; none for no quota.")
]
Schedules = Annotated[str | None, typer.Option("--schedules", help="Schedules; none for as many as it likes.")]
Weight = Annotated[
    str | None, typer.Option("--weight", help="Its share of the workers that serve everybody; others have 1.")
]


@app.command()
def create(
    name: Name,
    queued: Queued = None,
    payload_bytes: PayloadBytes = None,
    schedules: Schedules = None,
    weight: Weight = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Make a tenant; make keys for it with `drumline keys create --tenant`."""
    from drumline.cli.client import connect

    body = {
        "name": name,
        "quotas": _quotas(queued=queued, payload_bytes=payload_bytes, schedules=schedules, weight=weight),
    }
    _print(connect(url, api_key, reason=reason).post("/tenants", body), as_json=as_json)


@app.command("list")
def list_tenants(
    limit: Annotated[int, typer.Option("--limit", help="How many at most.", min=1)] = 1000,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List tenants by name."""
    from drumline.cli.client import connect

    tenants = connect(url, api_key).pages("/tenants", limit=limit)
    print_list(tenants, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="There is no tenant.")


@app.command()
def get(name: Name, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Look at a tenant."""
    from drumline.cli.client import connect

    _print(connect(url, api_key).get(f"/tenants/{_path(name)}"), as_json=as_json)


@app.command()
def change(
    name: Name,
    queued: Queued = None,
    payload_bytes: PayloadBytes = None,
    schedules: Schedules = None,
    weight: Weight = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Change how much a tenant may have; what is not named stays."""
    from drumline.cli.client import connect

    body = _quotas(queued=queued, payload_bytes=payload_bytes, schedules=schedules, weight=weight)
    _print(connect(url, api_key, reason=reason).patch(f"/tenants/{_path(name)}", body), as_json=as_json)


def _quotas(**named: str | None) -> dict[str, int | None]:
    """Return the quotas that were named; `none` takes one away."""
    from drumline.core.errors import Invalid

    quotas: dict[str, int | None] = {}
    for field, text in named.items():
        if text is None:
            continue
        if text != NONE and not text.isdecimal():
            raise Invalid("must be a number, or none", field=f"--{field.replace('_', '-')}")
        quotas[field] = None if text == NONE else int(text)
    return quotas


def _print(tenant: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(tenant)
        return
    quotas = ", ".join(f"{name} {value}" for name, value in tenant["quotas"].items() if value is not None)
    typer.echo(f"{tenant['name']}  {quotas or 'no quotas'}")


def _path(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
