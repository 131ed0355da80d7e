"""Commands about saved views: filters of lists under names, one's own and shared ones."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, segment, server_command
from drumline.cli.filtering import FilterText
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("List, save and delete views: filters of lists under names.")

Name = Annotated[str, Argument(help="The view's name.", metavar="NAME", show_default=False, complete=completing.views)]
Page = Annotated[
    str,
    Option(
        "--page",
        help="The list: tasks, failures or jobs.",
        metavar="PAGE",
        complete=completing.of("tasks", "failures", "jobs"),
    ),
]

COLUMNS = (
    Column("NAME", "name", rank=9, least=12),
    Column("PAGE", "page", rank=8),
    Column("FILTER", "filter", rank=7, least=16),
    Column("SHARED", lambda view: "yes" if view["is_shared"] else "no", rank=6),
    Column("OWNER", "owner", rank=5, least=8),
    Column("COLUMNS", lambda view: ", ".join(view["columns"]), rank=2, least=10),
    Column("UPDATED_AT", "updated_at", rank=3, is_time=True),
)


@list_command(app, "list", COLUMNS, empty="No views yet. Try: drumline views save NAME --filter 'status:failed'")
def list_views(
    client: "ApiClient",
    page: Annotated[
        str | None,
        Option(
            "--page",
            help="Only of this list: tasks, failures or jobs.",
            metavar="PAGE",
            complete=completing.of("tasks", "failures", "jobs"),
        ),
    ] = None,
) -> Any:
    """List your own views, and those that others share."""
    return client.get("/views", page=page)["items"]


@server_command(app, show=lambda view: click.echo(f"{view['name']}  {view['filter']}"), reason=True)
def save(
    client: "ApiClient",
    name: Name,
    page: Page = "tasks",
    filter: FilterText = None,
    columns: Annotated[
        str | None, Option("--columns", help="Columns of the web interface, such as Name,Error.", metavar="NAMES")
    ] = None,
    share: Annotated[bool, Option("--share", help="Let every key of the tenant see it.")] = False,
) -> Any:
    """Save a view, in place of your own of the same name."""
    chosen = [column.strip() for column in (columns or "").split(",") if column.strip()]
    body = {"filter": filter, "columns": chosen, "is_shared": share}
    return client.put(f"/views/{segment(page)}/{segment(name)}", body)


@server_command(app, reason=True)
def delete(
    client: "ApiClient",
    name: Name,
    page: Page = "tasks",
    owner: Annotated[
        str | None, Option("--owner", help="Whose view, if it is not your own: a shared one.", metavar="NAME")
    ] = None,
) -> None:
    """Delete a view: your own, or one that somebody shares."""
    client.delete(f"/views/{segment(page)}/{segment(name)}", owner=owner)
    click.echo(name)
