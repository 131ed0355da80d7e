"""Runs a signature on the spot: `apply()`, and every submission with `task_always_eager`."""

import traceback
from typing import Any

from drumline.compat.celery import signals, states
from drumline.compat.celery.canvas import chain, chord, group
from drumline.compat.celery.exceptions import Ignore, Replaced, Retry
from drumline.compat.celery.request import Request, current_request, running
from drumline.compat.celery.result import EagerResult, GroupResult
from drumline.compat.celery.signature import Signature, as_list, signature
from drumline.compat.celery.state import new_id
from drumline.compat.celery.wire import from_wire, to_wire


def run_eagerly(sig: Signature) -> Any:
    """Run a signature and all that hangs on it, and return its result."""
    match sig:
        case chain():
            result = _chain(sig)
        case group():
            result = GroupResult(new_id(), [run_eagerly(each) for each in sig.tasks])
        case chord():
            result = _chord(sig)
        case _:
            return _task(sig)
    if result is not None and not isinstance(result, GroupResult):
        _call_back(sig, result)
    return result


def _chain(sig: chain) -> Any:
    result: Any = None
    for step in sig.tasks:
        if isinstance(step, group) and not step.tasks:
            continue
        given = step if result is None else step.with_arguments((result.get(),), {})
        result_before, result = result, run_eagerly(given)
        result.parent = result_before
        if result.failed():
            break
    return result


def _chord(sig: chord) -> Any:
    header = GroupResult(new_id(), [run_eagerly(each) for each in sig.tasks])
    values = header.get(propagate=False)
    failed = next((one for one in header.results if one.failed()), None)
    if failed is not None:
        return failed
    result = run_eagerly(sig.body.with_arguments((values,), {}))
    result.parent = header
    return result


def _task(sig: Signature) -> Any:
    task, options = sig.type, sig.options
    outer = current_request()
    args, kwargs, retries = sig.args, dict(sig.kwargs), 0
    task_id = str(options.get("task_id") or new_id())
    written: dict[str, Any] = {
        name: options[name] for name in ("headers", "time_limit", "soft_time_limit") if name in options
    }
    while True:
        request = Request(
            id=task_id, task=task.name, args=args, kwargs=kwargs, app=sig.app, retries=retries, is_eager=True,
            called_directly=False, written=written, known_parent=None if outer is None else outer.id,
            known_root=task_id if outer is None else outer.root_id, delivery_info={"priority": options.get("priority")},
        )  # fmt: skip
        try:
            value = _attempt(task, request)
        except Retry as again:
            args = args if again.args_given is None else tuple(again.args_given)
            kwargs = kwargs if again.kwargs_given is None else dict(again.kwargs_given)
            retries += 1
            continue
        except Replaced as replaced:
            result = run_eagerly(replaced.ids)
        except Exception as error:
            if options.get("throw", sig.app.conf.task_eager_propagates):
                raise
            result = EagerResult(task_id, error, states.FAILURE, traceback.format_exc(), task.name)
        else:
            result = EagerResult(task_id, value, states.SUCCESS, name=task.name)
        _call_back(sig, result)
        return result


def _attempt(task: Any, request: Request) -> Any:
    named = {"task_id": request.id, "task": task, "args": request.args, "kwargs": request.kwargs}
    signals.task_prerun.send(sender=task, **named)
    state, value = states.FAILURE, None
    try:
        with running(request):
            value = task.invoke(request.args, request.kwargs)
        value = from_wire(to_wire(value))  # so that it is what a worker would give
        signals.task_success.send(sender=task, result=value)
        state = states.SUCCESS
    except Ignore:
        state = "IGNORED"
    except Retry as again:
        state = states.RETRY
        signals.task_retry.send(sender=task, request=request, reason=again.exc or again, einfo=None)
        raise
    except Exception as error:
        signals.task_failure.send(
            sender=task, task_id=request.id, exception=error, args=request.args, kwargs=request.kwargs,
            traceback=error.__traceback__, einfo=None,
        )  # fmt: skip
        raise
    finally:
        signals.task_postrun.send(sender=task, **named, retval=value, state=state)
    return value


def _call_back(sig: Signature, result: EagerResult) -> None:
    """Run the callbacks or errbacks of a signature."""
    if result.successful():
        for each in as_list(sig.options.get("link")):
            run_eagerly(signature(each).with_arguments((result.get(),), {}))
        return
    for each in as_list(sig.options.get("link_error")):
        run_eagerly(signature(each).with_arguments((result.id,), {}))
