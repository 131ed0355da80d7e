"""`jobs submit`: a job from a file, JSON or YAML. A name that is there twice is refused."""

import json
import re
import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import server_command
from drumline.cli.options import DryRun, Json
from drumline.cli.output import print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.streams import read_stdin
from drumline.cli.submitting import print_warnings, read_text_file
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient
    from drumline.core.job import NewJob

_TASK = re.compile(r"tasks\.([^.\[]+)\.?(.*)")
YAML_ENDINGS = frozenset({".yaml", ".yml"})


@server_command()
def submit(
    client: "ApiClient",
    file: Annotated[
        str, Argument(help="A file with the job as JSON or YAML, - for JSON on standard input.", metavar="FILE")
    ],
    name: Annotated[str | None, Option("--name", help="Another name than the file's.", metavar="NAME")] = None,
    owner: Annotated[str | None, Option("--owner", help="Whose job it is.", metavar="NAME")] = None,
    key: Annotated[str | None, Option("--key", help="Idempotency key.", metavar="KEY")] = None,
    after: Annotated[
        list[str] | None,
        Option(
            "--after",
            help="A job that must have completed first; may be repeated.",
            metavar="ID",
            complete=completing.jobs,
        ),
    ] = None,
    wait: Annotated[
        bool, Option("--wait", "-w", help="Wait for its end, and print the results of its last tasks.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Submit a job and print its id."""
    job = read_job(file)
    asked = {"name": name, "owner": owner, "idempotency_key": key, "depends_on": after}
    job |= {field: value for field, value in asked.items() if value is not None}
    if dry_run:
        with naming(file):
            _show(job, as_json=as_json)
        return
    with naming(file):
        answer = client.post("/jobs", job)
    print_warnings(client, answer.get("warnings", ()), names=_names(job))
    if answer["id"] is None:
        _print_scheduled(answer, as_json=as_json)
        return
    if wait:
        from drumline.cli.job_watching import wait_for_results

        if sys.stderr.isatty():
            say(f"Submitted {answer['id']}")
        wait_for_results(client, answer["id"], as_json=as_json)
    elif as_json:
        print_json(answer)
    else:
        click.echo(answer["id"])
        if not answer.get("created", True):
            say("This idempotency key was used before: it is the same job.")


def _print_scheduled(answer: dict[str, Any], *, as_json: bool) -> None:
    """Print the schedule that a job was submitted with: there is no job yet."""
    if as_json:
        print_json(answer)
        return
    click.echo(answer["schedule"]["id"])
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
    from drumline.core.accept_job import accept_job
    from drumline.core.codec import decode
    from drumline.core.ids import JobId, TaskId
    from drumline.core.job import JobRequest, JobTaskRequest

    _check_fields(job, JobRequest.__struct_fields__, "")
    for key, task in job["tasks"].items() if isinstance(job.get("tasks"), dict) else ():
        if isinstance(task, dict):
            _check_fields(task, JobTaskRequest.__struct_fields__, f"tasks.{key}.")
    request = decode(json.dumps(job).encode(), JobRequest)
    numbers = count(1)  # these tasks are never stored
    return accept_job(request, id=JobId(""), new_id=lambda: TaskId(str(next(numbers))))


def _check_fields(given: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raise `Invalid` for a field that there is not, with the nearest one that there is."""
    from drumline.core.json_errors import suggestion

    for name in given:
        if name not in known:
            raise Invalid(f"is not a known field{suggestion(name, known)}", field=f"{where}{name}")


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


def read_job(file: str) -> dict[str, Any]:
    """Return the job in a file, or on standard input for `-`; raises `Invalid` saying what is wrong with it."""
    is_yaml = Path(file).suffix.lower() in YAML_ENDINGS
    text = read_stdin("the job") if file == "-" else read_text_file(file)
    with naming(file):
        job = _from_yaml(text) if is_yaml else _from_json(text)
    if not isinstance(job, dict):
        raise Invalid(f"{_named(file)} must hold one object, with the job's name and tasks")
    return job


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Add the file and the task to errors of a job inside the block."""
    try:
        yield
    except Invalid as error:
        where, field = [_named(file)], error.field or ""
        if found := _TASK.fullmatch(field):
            where.append(f"task {found[1]}")
            field = found[2]
        if field and not error.message.startswith(field):
            where.append(field)
        raise Invalid(": ".join((*where, error.message)), code=error.code) from error


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_no_number)
    except ValueError as error:
        raise Invalid(f"is not JSON: {error}") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Invalid(f"an object has {twice!r} twice")
    return found


def _from_yaml(text: str) -> Any:
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise Invalid("needs a parser: pip install 'drumline[server]', or write it as JSON") from error

    class Loader(yaml.SafeLoader):
        """The safe one, but that a key which is there twice is no accident to pass over."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            twice = next((key for key in keys if keys.count(key) > 1), None)
            if twice is not None:
                raise Invalid(f"an object has {twice!r} twice, at line {node.start_mark.line + 1}")
            return super().construct_mapping(node, deep=deep)

    try:
        # As JSON and back: dates become the texts that the API takes, and what JSON has not is refused here.
        plain = json.dumps(yaml.load(text, Loader), default=_as_text, allow_nan=False)  # noqa: S506 - a SafeLoader
        return json.loads(plain)
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise Invalid(f"is not YAML that JSON can say: {' '.join(str(error).split())}") from error


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number that JSON has")


def _as_text(value: Any) -> str:
    as_text = getattr(value, "isoformat", None)
    if as_text is None:
        raise TypeError(f"{value!r} is nothing that JSON has")
    return str(as_text())


def _named(file: str) -> str:
    return "standard input" if file == "-" else file
