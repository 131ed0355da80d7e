"""Spans of your own around every execution, with OpenTelemetry: each continues the trace of its task's submission.

    pip install 'drumline[traces]'
    drumline dev examples/hooks_opentelemetry.py

Drumline makes spans of its own when tracing is set up (docs/how-to/observe.md); hooks are for what only the app knows.
"""

from collections.abc import Generator

from opentelemetry import trace
from opentelemetry.trace import Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from drumline import Drumline, Execution, ExecutionEnd, TaskRequest

app = Drumline("traced")
tracer = trace.get_tracer("shop")


@app.before_submit
def note_submission(request: TaskRequest) -> None:
    """Tell the span in which the task is submitted; the SDK sends its trace along."""
    trace.get_current_span().add_event("task.submit", {"task.name": request.name})


@app.around
def span(execution: Execution) -> Generator[None, ExecutionEnd]:
    """Run the task inside a span that continues the submitter's trace."""
    carrier = {"traceparent": execution.traceparent} if execution.traceparent else {}
    parent = TraceContextTextMapPropagator().extract(carrier)
    with tracer.start_as_current_span(f"run {execution.name}", context=parent) as current:
        current.set_attribute("task.id", execution.id)
        current.set_attribute("task.attempt", execution.attempt)
        end = yield
        if end.is_failed:
            current.set_status(Status(StatusCode.ERROR, str(end.error)))
            if end.error is not None:
                current.record_exception(end.error)


@app.task(retries=0)
def divide(a: int, b: int) -> float:
    """Divide two numbers; spans made here are below that of the hook."""
    with tracer.start_as_current_span("divide"):
        return a / b


if __name__ == "__main__":
    with tracer.start_as_current_span("checkout"):
        print(divide.submit(6, 3).result(timeout=10))
