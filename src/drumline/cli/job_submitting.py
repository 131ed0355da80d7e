"""`jobs submit`: a job from a file."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumline.cli.doubts import tell_warnings
from drumline.cli.options import DryRun, Json, Key, Url
from drumline.cli.output import print_json, say
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.core.job import NewJob


def submit(
    file: Annotated[
        str, typer.Argument(help="A file with the job as JSON or YAML, - for JSON on standard input.", metavar="FILE")
    ],
    name: Annotated[str | None, typer.Option("--name", help="Another name than the file's.", metavar="NAME")] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Whose job it is.", metavar="NAME")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Idempotency key.", metavar="KEY")] = None,
    after: Annotated[
        list[str] | None,
        typer.Option("--after", help="A job that must have completed first; may be repeated.", metavar="ID"),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Wait for its end, and print what its last tasks gave back.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Submit a job and print its id."""
    from drumline.cli.client import connect
    from drumline.cli.job_files import naming, read_job

    job = read_job(file)
    asked = {"name": name, "owner": owner, "idempotency_key": key, "depends_on": after}
    job |= {field: value for field, value in asked.items() if value is not None}
    if dry_run:
        with naming(file):
            _show(job, as_json=as_json)
        return
    client = connect(url, api_key)
    with naming(file):
        answer = client.post("/jobs", job)
    tell_warnings(client, answer.get("warnings", ()), names=_names(job))
    if answer["id"] is None:
        _print_scheduled(answer, as_json=as_json)
        return
    if wait:
        from drumline.cli.job_watching import wait_for_end

        if sys.stderr.isatty():
            say(f"Submitted {answer['id']}")
        wait_for_end(client, answer["id"], as_json=as_json)
    elif as_json:
        print_json(answer)
    else:
        typer.echo(answer["id"])
        if not answer.get("created", True):
            say("This idempotency key was used before: it is the same job.")


def _print_scheduled(answer: dict[str, Any], *, as_json: bool) -> None:
    """Print the schedule that a job was submitted with: there is no job yet."""
    if as_json:
        print_json(answer)
        return
    typer.echo(answer["schedule"]["id"])
    say("This is a schedule, which will make jobs: see `drumline schedules get`.")


def _names(job: dict[str, Any]) -> list[str]:
    """Return the names of a job's tasks."""
    tasks = job["tasks"]
    return [
        str(task.get("name", key)) for key, task in tasks.items() if isinstance(task, dict) and "command" not in task
    ]


def _show(job: dict[str, Any], *, as_json: bool) -> None:
    """Check a job as the server would, and draw it; what only the server knows is not checked."""
    accepted = _accepted(job)
    if as_json:
        print_json(job)
    else:
        from drumline.cli.picture import print_graph

        print_graph(_as_graph(accepted))
    say(f"A job of {len(accepted.tasks):,} tasks would be sent to POST /api/v1/jobs; nothing was submitted.")


def _accepted(job: dict[str, Any]) -> "NewJob":
    import json

    from drumline.core.accept_job import accept_job
    from drumline.core.codec import decode
    from drumline.core.ids import JobId, TaskId
    from drumline.core.job import JobRequest, JobTaskRequest

    _check_fields(job, JobRequest.__struct_fields__, "")
    for key, task in job["tasks"].items() if isinstance(job.get("tasks"), dict) else ():
        if isinstance(task, dict):
            _check_fields(task, JobTaskRequest.__struct_fields__, f"tasks.{key}.")
    request = decode(json.dumps(job).encode(), JobRequest)
    return accept_job(request, id=JobId(""), new_id=_Numbers(TaskId).next)


def _check_fields(given: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raise `Invalid` for a field that there is not, with the nearest one that there is."""
    from drumline.core.wording import suggestion

    for name in given:
        if name not in known:
            raise Invalid(f"is not a known field{suggestion(name, known)}", field=f"{where}{name}")


class _Numbers:
    """Gives ids to tasks that will never be stored."""

    def __init__(self, make: Any) -> None:
        self._make = make
        self._count = 0

    def next(self) -> Any:
        """Return one more."""
        self._count += 1
        return self._make(str(self._count))


def _as_graph(job: "NewJob") -> dict[str, Any]:
    keys = {one.task.id: one.key for one in job.tasks}
    nodes = [
        {
            "key": one.key, "name": one.task.lane.name, "needs": [keys[need] for need in one.needs], "status": "",
            "run_if": one.run_if.value, "started_at": None, "finished_at": None, "reason": None, "cause": None,
        }
        for one in job.tasks
    ]  # fmt: skip
    return {"id": job.id, "nodes": nodes, "critical_path": {"keys": [], "seconds": 0}}
