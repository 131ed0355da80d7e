"""Celery's interface on Drumline: change `from celery import …` to `from drumline.compat.celery import …`.

    from drumline.compat.celery import Celery

    app = Celery("shop")

    @app.task(bind=True, max_retries=5)
    def charge(self, order):
        ...

What works, what does not and why is in docs/how-to/celery.md. Celery itself is never imported.
"""

from drumline.compat.celery.app import Celery, shared_task
from drumline.compat.celery.canvas import Signature, chain, chord, group, maybe_signature, signature, subtask
from drumline.compat.celery.request import current_request
from drumline.compat.celery.result import AsyncResult, EagerResult, GroupResult, ResultSet
from drumline.compat.celery.schedules import crontab
from drumline.compat.celery.state import current_app
from drumline.compat.celery.task import Task

__all__ = [
    "AsyncResult",
    "Celery",
    "EagerResult",
    "GroupResult",
    "ResultSet",
    "Signature",
    "Task",
    "chain",
    "chord",
    "crontab",
    "current_app",
    "current_request",
    "group",
    "maybe_signature",
    "shared_task",
    "signature",
    "subtask",
]
