"""The facts about workers and queues, as their stores tell them."""

from typing import Any

from drumline.core.event import Fact
from drumline.core.ids import SessionId, session_text
from drumline.core.session import SessionSpec


def worker_opened(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker has come."""
    details = {"queues": spec.queues, "tasks": spec.names, "capacity": spec.capacity, "version": spec.version}
    return _worker("opened", session, spec, details)


def worker_draining(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker was asked to finish what it holds and leave."""
    return _worker("draining", session, spec, {})


def worker_closed(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker has left in order."""
    return _worker("closed", session, spec, {})


def worker_reaped(session: SessionId, spec: SessionSpec) -> Fact:
    """A worker has not been heard of for too long, and what it held is given to others."""
    return _worker("reaped", session, spec, {})


def queue_paused(queue: str, *, tenant: str, reason: str | None) -> Fact:
    """A queue's tasks are not handed out any more."""
    return Fact("drumline.queue.paused", queue, tenant, {"reason": reason})


def queue_resumed(queue: str, *, tenant: str) -> Fact:
    """A queue's tasks are handed out again."""
    return Fact("drumline.queue.resumed", queue, tenant)


def _worker(word: str, session: SessionId, spec: SessionSpec, details: dict[str, Any]) -> Fact:
    who = {"host": spec.host, "pid": spec.pid, "label": spec.label}
    return Fact(f"drumline.worker.{word}", session_text(session), spec.tenant or "", who | details)
