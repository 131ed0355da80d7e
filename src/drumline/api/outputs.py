"""What tasks leave behind: logs, readable while they run, and files."""

import re
from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta, Struct

from drumline.aio.threads import off_loop
from drumline.api.operation import TEXT, ApiCall, NoQuery, Operation, Reply, Stream, Tag
from drumline.api.shapes import ArtifactList, artifact_body
from drumline.api.stopping import each_unless_stopped
from drumline.api.tasks import task_of
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.errors import Invalid, NotFound
from drumline.core.field_schema import about
from drumline.core.ids import TaskId
from drumline.core.names import check_text

LONGEST_FILE_NAME = 255
ANY_FILE = "application/octet-stream"

_MEDIA = re.compile(r"[\w.+-]+/[\w.+-]+(; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)
_PLAIN = re.compile(r"[\w .()+-]+", re.ASCII)


class LogQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of the log, and whether to go on until the task has ended."""

    attempt: Annotated[
        Annotated[int, Meta(ge=1)] | None, about("Only this attempt's log.", type="integer", minimum=1)
    ] = None
    follow: Annotated[bool, about("Go on as the log grows, until the task has ended.")] = False


async def read_log(call: ApiCall[None, LogQuery]) -> Reply | Stream:
    """Return a task's log as plain text, or follow it until the task has ended."""
    task = task_of(call)
    if call.query.follow:
        if call.query.attempt is not None:
            raise Invalid("cannot be given together with follow", field="attempt")
        await call.engine.queries.get(task, tenant=call.tenant)
        return Stream(_followed(call, task))
    if call.query.attempt is not None:
        return Reply(await _log_of_attempt(call, task, call.query.attempt), media=TEXT)
    return Reply(await _encoded(await call.engine.queries.read_log(task, tenant=call.tenant)), media=TEXT)


async def _followed(call: ApiCall[None, LogQuery], task: TaskId) -> AsyncIterator[bytes]:
    pieces = call.engine.queries.follow_log(task, tenant=call.tenant)
    async for text in each_unless_stopped(pieces, stop=call.context.stop, receive=call.receive):
        yield await _encoded(text)


async def _encoded(text: str) -> bytes:
    return await off_loop(len(text), lambda: text.encode(errors="replace"))


async def _log_of_attempt(call: ApiCall[None, LogQuery], task: TaskId, attempt: int) -> bytes:
    """Return the log of every execution that bore this number: a released one gives its number back."""
    views = await call.engine.queries.attempts(task, tenant=call.tenant)
    epochs = [view.epoch for view in views if view.attempt == attempt]
    if not epochs:
        raise NotFound(f"task {task} has no attempt {attempt}", field="attempt")
    return await _encoded(await call.engine.queries.read_log(task, epochs=epochs, tenant=call.tenant))


async def list_artifacts(call: ApiCall[None, NoQuery]) -> Reply:
    """Return what files a task made."""
    views = await call.engine.queries.artifacts(task_of(call), tenant=call.tenant)
    return Reply(encode(ArtifactList(tuple(artifact_body(view) for view in views))))


async def get_artifact(call: ApiCall[None, NoQuery]) -> Reply:
    """Return one file, always as a download: it came from a task, so its content is not trusted."""
    name = check_file_name(call.params["name"])
    artifact = await call.engine.queries.artifact(task_of(call), name, tenant=call.tenant)
    return Reply(
        artifact.data,
        media=check_file_media(artifact.content_type).encode(),
        headers=((b"content-disposition", disposition(name)),),
    )


def check_file_name(name: str) -> str:
    """Return a file's name: one line of text without slashes."""
    checked = check_text(name, field="name", longest=LONGEST_FILE_NAME)
    if "/" in checked or "\\" in checked or checked in {".", ".."}:
        raise Invalid("must be a plain file name", field="name")
    return checked


def check_file_media(media: str) -> str:
    """Return a file's type, or the type of any file if it is none."""
    return media if _MEDIA.fullmatch(media) and len(media) <= 255 else ANY_FILE


def disposition(name: str) -> bytes:
    """Return the header that makes a browser save a file under its name, whatever characters it has."""
    if _PLAIN.fullmatch(name):
        return f'attachment; filename="{name}"'.encode()
    return f"attachment; filename=\"download\"; filename*=UTF-8''{quote(name, safe='')}".encode()


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/tasks/{id}/log", handler=read_log, tag=Tag.TASKS,
        summary="Read a task's log, or follow it while it runs", query=LogQuery, media=TEXT, answer=str,
        permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/tasks/{id}/artifacts", handler=list_artifacts, tag=Tag.TASKS,
        summary="List the files that a task made", answer=ArtifactList, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/tasks/{id}/artifacts/{name}", handler=get_artifact, tag=Tag.TASKS,
        summary="Download a file that a task made", media=b"*/*", answer=bytes, permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
