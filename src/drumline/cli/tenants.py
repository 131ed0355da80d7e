"""Commands about tenants."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import Flags, flags, group, list_command, segment, server_command
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Create tenants and set their quotas.")

COLUMNS = (
    Column("NAME", "name", rank=9, least=10),
    Column("QUEUED", lambda tenant: tenant["quotas"]["queued"], rank=8),
    Column("PAYLOAD_BYTES", lambda tenant: tenant["quotas"]["payload_bytes"], rank=7),
    Column("SCHEDULES", lambda tenant: tenant["quotas"]["schedules"], rank=6),
    Column("WEIGHT", lambda tenant: tenant["quotas"].get("weight"), rank=4),
    Column("CREATED_AT", "created_at", rank=5, is_time=True),
)

NONE = "none"

Name = Annotated[
    str, Argument(help="The tenant's name.", metavar="NAME", show_default=False, complete=completing.tenants)
]


@flags
class QuotaOptions(Flags):
    """How much a tenant may have."""

    queued: Annotated[
        str | None, Option("--queued", help="Tasks that may wait to be run; none for as many as it likes.")
    ] = None
    payload_bytes: Annotated[
        str | None, Option("--payload-bytes", help="Bytes of JSON in the payload of a task; none for no quota.")
    ] = None
    schedules: Annotated[str | None, Option("--schedules", help="Schedules; none for as many as it likes.")] = None
    weight: Annotated[
        str | None, Option("--weight", help="Its share of the workers that serve everybody; others have 1.")
    ] = None

    def body(self) -> dict[str, int | None]:
        """Return the quotas that were named; `none` takes one away."""
        named = {field: text for field, text in vars(self).items() if text is not None}
        for field, text in named.items():
            if text != NONE and not text.isdecimal():
                raise Invalid("must be a number, or none", field=f"--{field.replace('_', '-')}")
        return {field: None if text == NONE else int(text) for field, text in named.items()}


def _print_tenant(tenant: dict[str, Any]) -> None:
    quotas = ", ".join(f"{name} {value}" for name, value in tenant["quotas"].items() if value is not None)
    click.echo(f"{tenant['name']}  {quotas or 'no quotas'}")


@server_command(app, show=_print_tenant, reason=True)
def create(client: "ApiClient", name: Name, quotas: QuotaOptions) -> Any:
    """Create a tenant; create keys for it with `drumline keys create --tenant`."""
    return client.post("/tenants", {"name": name, "quotas": quotas.body()})


@list_command(app, "list", COLUMNS, empty="There is no tenant.")
def list_tenants(
    client: "ApiClient", limit: Annotated[int, Option("--limit", help="How many at most.", min=1)] = 1000
) -> Any:
    """List tenants by name."""
    return client.pages("/tenants", limit=limit)


@server_command(app, show=_print_tenant)
def get(client: "ApiClient", name: Name) -> Any:
    """Show a tenant."""
    return client.get(f"/tenants/{segment(name)}")


@server_command(app, show=_print_tenant, reason=True)
def change(client: "ApiClient", name: Name, quotas: QuotaOptions) -> Any:
    """Change the quotas of a tenant; those that are not given stay."""
    return client.patch(f"/tenants/{segment(name)}", quotas.body())
