"""Drumline: a distributed task scheduler and job queue.

    from drumline import Drumline

    app = Drumline("hello")

    @app.task
    def add(a: int, b: int) -> int:
        return a + b

Names are loaded when they are first used, so that `import drumline` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from drumline._version import __version__

if TYPE_CHECKING:
    from drumline.core.child_views import ChildInfo
    from drumline.core.errors import (
        Conflict,
        DrumlineError,
        Fenced,
        Forbidden,
        Invalid,
        KeyReused,
        NotFound,
        Overloaded,
        Unauthorized,
        Unavailable,
    )
    from drumline.core.job import JobStatus, RunIf
    from drumline.core.retry import Backoff
    from drumline.core.state import Status
    from drumline.core.task import NotifyTarget, TaskRequest
    from drumline.sdk.app import Drumline
    from drumline.sdk.app_hooks import Execution, ExecutionEnd
    from drumline.sdk.as_completed import as_completed
    from drumline.sdk.batch import BatchTask
    from drumline.sdk.chain import Chain
    from drumline.sdk.collapse import Debounce, Singleton, Throttle, Unique
    from drumline.sdk.context import Context, current, inject
    from drumline.sdk.dag import Dag
    from drumline.sdk.definition import Mode
    from drumline.sdk.errors import (
        ChildFailed,
        JobCancelled,
        JobFailed,
        NoServer,
        SignalTimeout,
        StepFailed,
        TaskCancelled,
        TaskFailed,
        WaitTimeout,
    )
    from drumline.sdk.handle import TaskHandle
    from drumline.sdk.job_handle import JobHandle
    from drumline.sdk.jobs import AttemptInfo, JobInfo, NodeInfo
    from drumline.sdk.locate import Direct
    from drumline.sdk.node import Node
    from drumline.sdk.secret import secret
    from drumline.sdk.signals import Cancelled, Permanent, Retry, Snooze
    from drumline.sdk.task import AsyncTask, Call, Task
    from drumline.sdk.task_asks import TaskAttemptInfo
    from drumline.sdk.transaction import NotCommitted, NotRelayed, Transaction
    from drumline.sdk.transport import TaskInfo

__all__ = [
    "AsyncTask",
    "AttemptInfo",
    "Backoff",
    "BatchTask",
    "Call",
    "Cancelled",
    "Chain",
    "ChildFailed",
    "ChildInfo",
    "Conflict",
    "Context",
    "Dag",
    "Debounce",
    "Direct",
    "Drumline",
    "DrumlineError",
    "Execution",
    "ExecutionEnd",
    "Fenced",
    "Forbidden",
    "Invalid",
    "JobCancelled",
    "JobFailed",
    "JobHandle",
    "JobInfo",
    "JobStatus",
    "KeyReused",
    "Mode",
    "NoServer",
    "Node",
    "NodeInfo",
    "NotCommitted",
    "NotFound",
    "NotRelayed",
    "NotifyTarget",
    "Overloaded",
    "Permanent",
    "Retry",
    "RunIf",
    "SignalTimeout",
    "Singleton",
    "Snooze",
    "Status",
    "StepFailed",
    "Task",
    "TaskAttemptInfo",
    "TaskCancelled",
    "TaskFailed",
    "TaskHandle",
    "TaskInfo",
    "TaskRequest",
    "Throttle",
    "Transaction",
    "Unauthorized",
    "Unavailable",
    "Unique",
    "WaitTimeout",
    "__version__",
    "as_completed",
    "current",
    "inject",
    "secret",
]

_HOMES: Final = {
    "drumline.core.child_views": ("ChildInfo",),
    "drumline.core.errors": (
        "Conflict", "DrumlineError", "Fenced", "Forbidden", "Invalid", "KeyReused", "NotFound", "Overloaded",
        "Unauthorized", "Unavailable",
    ),
    "drumline.core.job": ("JobStatus", "RunIf"),
    "drumline.core.retry": ("Backoff",),
    "drumline.core.state": ("Status",),
    "drumline.core.task": ("NotifyTarget", "TaskRequest"),
    "drumline.sdk.app": ("Drumline",),
    "drumline.sdk.app_hooks": ("Execution", "ExecutionEnd"),
    "drumline.sdk.as_completed": ("as_completed",),
    "drumline.sdk.batch": ("BatchTask",),
    "drumline.sdk.chain": ("Chain",),
    "drumline.sdk.collapse": ("Debounce", "Singleton", "Throttle", "Unique"),
    "drumline.sdk.context": ("Context", "current", "inject"),
    "drumline.sdk.dag": ("Dag",),
    "drumline.sdk.definition": ("Mode",),
    "drumline.sdk.errors": (
        "ChildFailed", "JobCancelled", "JobFailed", "NoServer", "SignalTimeout", "StepFailed", "TaskCancelled",
        "TaskFailed", "WaitTimeout",
    ),
    "drumline.sdk.handle": ("TaskHandle",),
    "drumline.sdk.job_handle": ("JobHandle",),
    "drumline.sdk.jobs": ("AttemptInfo", "JobInfo", "NodeInfo"),
    "drumline.sdk.locate": ("Direct",),
    "drumline.sdk.node": ("Node",),
    "drumline.sdk.secret": ("secret",),
    "drumline.sdk.signals": ("Cancelled", "Permanent", "Retry", "Snooze"),
    "drumline.sdk.task": ("AsyncTask", "Call", "Task"),
    "drumline.sdk.task_asks": ("TaskAttemptInfo",),
    "drumline.sdk.transaction": ("NotCommitted", "NotRelayed", "Transaction"),
    "drumline.sdk.transport": ("TaskInfo",),
}  # fmt: skip
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one of ours

    def __getattr__(name: str) -> Any:
        """Load a public name on first use."""
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
