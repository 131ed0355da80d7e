"""Failures in Sentry, with the task's name, id and attempt: one report for each attempt that failed.

pip install sentry-sdk
SENTRY_DSN=https://… drumline dev examples/hooks_sentry.py
"""

from collections.abc import Generator

import sentry_sdk

from drumline import Drumline, Execution, ExecutionEnd

app = Drumline("reported")


def set_up() -> None:
    """Begin to report; SENTRY_DSN says where to."""
    sentry_sdk.init(default_integrations=False)


@app.around
def report(execution: Execution) -> Generator[None, ExecutionEnd]:
    """Give each execution a scope of its own, and report the error that it failed with."""
    with sentry_sdk.isolation_scope() as scope:
        scope.set_tag("task.name", execution.name)
        scope.set_tag("task.queue", execution.queue)
        scope.set_context("task", {"id": execution.id, "attempt": execution.attempt})
        end = yield
        if end.is_failed and end.error is not None:
            sentry_sdk.capture_exception(end.error)


@app.task(retries=0)
def divide(a: int, b: int) -> float:
    """Divide two numbers."""
    return a / b


if __name__ == "__main__":
    set_up()
    print(divide.submit(6, 3).result(timeout=10))
