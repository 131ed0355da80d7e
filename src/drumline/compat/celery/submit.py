"""Submits a signature: a plain task as a task, everything else as a job."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from drumline.compat.celery import signals
from drumline.compat.celery.canvas import Canvas, chain, chord, group
from drumline.compat.celery.eager import run_eagerly
from drumline.compat.celery.envelope import envelope
from drumline.compat.celery.graph import GraphBuilder, Inherited
from drumline.compat.celery.options import drumline_options, merged_options
from drumline.compat.celery.result import AsyncResult, GroupResult
from drumline.compat.celery.signature import Signature, as_list
from drumline.compat.celery.state import new_id
from drumline.core.errors import Unavailable

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

T = TypeVar("T")

_FOR_THE_FIRST: Final = ("countdown", "eta")
_FOR_THE_WHOLE: Final = ("link", "link_error", "task_id")
_SUBMISSION: Final = ("retry", "retry_policy", "key")
"""Options about the submission itself."""


def submit(sig: Signature, options: Mapping[str, Any], *, lineage: Mapping[str, Any] | None = None) -> Any:
    """Submit a signature with options over its own, and return its result."""
    given = {name: value for name, value in options.items() if name not in _SUBMISSION}
    sig = distributed(sig, {name: value for name, value in given.items() if value is not None})
    app = sig.app
    if app.conf.task_always_eager:
        return run_eagerly(sig)
    policy, key = options.get("retry_policy"), options.get("key")
    if policy and key is None:
        key = new_id()
    is_plain = not isinstance(sig, Canvas) and not sig.options.get("link") and not sig.options.get("link_error")
    act = (lambda: _submit_task(app, sig, key, lineage)) if is_plain else lambda: _submit_job(app, sig, key, lineage)
    return act() if not policy else _insist(act, policy)


def distributed(sig: Signature, options: Mapping[str, Any]) -> Signature:
    """Return a copy with options given to the signatures that they are for."""
    if not options:
        return sig.clone()
    copy = sig.clone()
    if not isinstance(copy, Canvas):
        return _merged(copy, options)
    whole = {name: value for name, value in options.items() if name in _FOR_THE_WHOLE}
    each = {name: value for name, value in options.items() if name not in (*_FOR_THE_WHOLE, *_FOR_THE_FIRST)}
    first = {name: value for name, value in options.items() if name in _FOR_THE_FIRST}
    if isinstance(copy, group) and "link" in whole:
        raise TypeError("Cannot add link to group: use a chord")
    tasks = [distributed(one, each) for one in copy.tasks]
    starts = 1 if isinstance(copy, chain) else len(tasks)
    copy.tasks = [distributed(one, first) if number < starts else one for number, one in enumerate(tasks)]
    if isinstance(copy, chord):
        copy.body = distributed(copy.body, each)
    return _merged(copy, whole)


def _merged(sig: Signature, options: Mapping[str, Any]) -> Signature:
    for name, value in options.items():
        if name == "task_id":
            sig.set_id(str(value))
        elif name in {"link", "link_error"}:
            sig.options[name] = [*as_list(sig.options.get(name)), *as_list(value)]
        else:
            sig.options[name] = value
    return sig


def _submit_task(app: "Celery", sig: Signature, key: str | None, lineage: Mapping[str, Any] | None) -> AsyncResult:
    options = merged_options(app, sig.task, sig.options)
    payload = envelope(app, sig, options, lineage=lineage)
    headers = {"id": sig.id, "task": sig.task}
    signals.before_task_publish.send(sender=sig.task, body=payload, headers=headers, routing_key=options.get("queue"))
    said = drumline_options(app, options)
    if key is not None:
        said["key"] = key
    task_id = app.drumline.submit_task(sig.task, payload, **said).id
    result = AsyncResult(sig.id or task_id, app=app)
    result.ignored = bool(options.get("ignore_result"))
    app.remember(result.id, task_id)
    headers["id"] = result.id
    signals.after_task_publish.send(sender=sig.task, body=payload, headers=headers, routing_key=options.get("queue"))
    return result


def _submit_job(app: "Celery", sig: Signature, key: str | None, lineage: Mapping[str, Any] | None) -> Any:
    builder = GraphBuilder(app, _name_of(sig), lineage, key=key)
    for each in _tasks_in(sig):
        signals.before_task_publish.send(sender=each.task, body=each, headers={"id": each.id, "task": each.task})
    output = builder.add(sig, None, Inherited())
    if output is None:
        return GroupResult(new_id(), [], app=app)
    job = builder.dag.submit()
    for leaf in builder.added:
        task_id = job.task(leaf.node.key).id
        if leaf.result.id == leaf.node.key:
            leaf.result.id = task_id
        app.remember(leaf.result.id, task_id)
    return output.result


def _tasks_in(sig: Signature) -> list[Signature]:
    if not isinstance(sig, Canvas):
        return [sig]
    inside = [*sig.tasks, *([sig.body] if isinstance(sig, chord) else [])]
    return [deep for each in inside for deep in _tasks_in(each)]


def _name_of(sig: Signature) -> str:
    """Return what the job of a canvas is called: its kind, and what it begins with."""
    names = [one.task.rpartition(".")[2] for one in _tasks_in(sig)]
    few = " → ".join(dict.fromkeys(names[:5])) or "nothing"
    return f"{sig.KIND or 'task'}: {few}{' …' if len(names) > 5 else ''}"


def _insist(act: Callable[[], T], policy: Mapping[str, Any]) -> T:
    """Submit again while the server cannot be reached, as the policy says; the key makes it one task."""
    most = policy.get("max_retries", 3)
    pause, step, cap = (float(policy.get(f"interval_{word}", 0.2)) for word in ("start", "step", "max"))
    tries = 0
    while True:
        try:
            return act()
        except Unavailable:
            tries += 1
            if most is not None and tries > most:
                raise
            time.sleep(min(pause, cap))
            pause += step
