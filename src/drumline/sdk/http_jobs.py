"""Asks about jobs as requests of the public API."""

from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from drumline.core.codec import encode
from drumline.core.ids import JobId
from drumline.sdk.jobs import (
    AttemptInfo,
    CancelJob,
    GetAttempts,
    GetJob,
    GetNodes,
    GetResults,
    JobInfo,
    NodeInfo,
    ResumeJob,
    SubmitJob,
    SubmittedInfo,
    TaskInfoPage,
)
from drumline.sdk.transport import HttpMessage, JobAsk

PAGE: Final = 200
"""Results fetched at once: each may be a megabyte."""


class _Graph(Struct):
    nodes: tuple[NodeInfo, ...]


class _Attempts(Struct):
    items: tuple[AttemptInfo, ...]


def message_of(ask: JobAsk[Any]) -> HttpMessage:
    """Return the request that an ask becomes."""
    match ask:
        case SubmitJob(request):
            is_keyed = request.idempotency_key is not None
            return HttpMessage(
                method="POST", path="/api/v1/jobs", body=encode(request), is_repeatable=is_keyed, answer=SubmittedInfo
            )
        case CancelJob(job, force, reason):
            body = encode({"force": force, "reason": reason})
            return HttpMessage(method="POST", path=f"{_path(job)}/cancel", body=body)
        case ResumeJob(job):
            return HttpMessage(method="POST", path=f"{_path(job)}/resume", is_repeatable=False)
        case _:
            return _look(ask)


def _look(ask: JobAsk[Any]) -> HttpMessage:
    """Return the request that an ask becomes that changes nothing."""
    match ask:
        case GetJob(job, wait):
            return HttpMessage(path=_path(job), wait=wait, answer=JobInfo)
        case GetNodes(job):
            return HttpMessage(path=f"{_path(job)}/graph", answer=_Graph, read=lambda graph: graph.nodes)
        case GetAttempts(job, limit):
            path = f"{_path(job)}/attempts?limit={limit}"
            return HttpMessage(path=path, answer=_Attempts, read=lambda attempts: attempts.items)
        case GetResults(job, cursor):
            query = f"?job={job}&status=COMPLETED&payload=true&limit={PAGE}"
            more = "" if cursor is None else f"&cursor={cursor}"
            return HttpMessage(path=f"/api/v1/tasks{query}{more}", answer=TaskInfoPage)
        case _:
            raise TypeError(f"cannot send {ask!r}")


def _path(job: JobId) -> str:
    return f"/api/v1/jobs/{quote(job, safe='')}"
