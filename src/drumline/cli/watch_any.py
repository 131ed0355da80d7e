"""`drumline watch`: tasks and jobs, told apart by asking the server."""

from typing import TYPE_CHECKING, Annotated

from drumline.cli import completing
from drumline.cli.commands import server_command
from drumline.cli.job_watching import watch_job
from drumline.cli.parameters import Argument
from drumline.cli.watch_many import WatchOptions, watch_all
from drumline.cli.watching import watch_task
from drumline.core.errors import NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

Ids = Annotated[
    list[str],
    Argument(
        help="Ids of tasks and jobs.",
        metavar="ID",
        show_default=False,
        complete=completing.tasks_and_jobs,
        ids_of="tasks jobs",
    ),
]


@server_command()
def watch(client: "ApiClient", ids: Ids, options: WatchOptions) -> None:
    """Watch tasks and jobs until they end; several are printed as each ends."""
    paths = [_path_of(client, one) for one in ids]
    watch_all(client, paths, options, watch_job if paths[0].startswith("/jobs/") else watch_task)


def _path_of(client: "ApiClient", id: str) -> str:
    """Return the path of a task or a job."""
    try:
        client.get(f"/tasks/{id}")
    except NotFound:
        try:
            client.get(f"/jobs/{id}")
        except NotFound:
            raise NotFound(f"there is no task and no job {id}") from None
        return f"/jobs/{id}"
    return f"/tasks/{id}"
