"""How a notebook shows a handle: state, progress and attempts, as they are when the cell is shown."""

from html import escape
from typing import TYPE_CHECKING, Any

from drumline.core.duration import format_duration
from drumline.core.errors import DrumlineError
from drumline.core.state import Status
from drumline.sdk.embedded import EngineTransport
from drumline.sdk.threads import running_loop
from drumline.sdk.transport import Get, TaskInfo

if TYPE_CHECKING:
    from drumline.sdk.handle import TaskHandle

COLOURS = {
    Status.COMPLETED: "#1a7f37",
    Status.FAILED: "#cf222e",
    Status.CANCELLED: "#6e7781",
    Status.SKIPPED: "#6e7781",
    Status.PROCESSING: "#0969da",
}
WAITING = "#9a6700"


def mimebundle(handle: "TaskHandle[Any]") -> dict[str, str]:
    """Return a handle as text and as HTML; a task that cannot be looked at now says why."""
    try:
        info = _look(handle)
    except DrumlineError as error:
        return _unseen(handle, str(error))
    if info is None:
        return _unseen(handle, "await its .ainfo() to look at it: its engine is on this event loop")
    return {"text/plain": text_of(info), "text/html": html_of(info, handle.url)}


def _unseen(handle: "TaskHandle[Any]", why: str) -> dict[str, str]:
    html = f"<div><code>{escape(repr(handle))}</code>: {escape(why)}</div>"
    return {"text/plain": f"{handle!r}: {why}", "text/html": html}


def _look(handle: "TaskHandle[Any]") -> TaskInfo | None:
    """Return the task as it is; None if only the loop that waits for it here could answer.

    A notebook shows a cell on its event loop, which is idle meanwhile: a short wait on it is harmless.
    """
    transport = handle.client.transport
    loop = running_loop()
    if loop is not None and isinstance(transport, EngineTransport) and transport.loop is loop:
        return None
    return transport.send(Get(handle.id))


def text_of(info: TaskInfo) -> str:
    """Return a task in one line."""
    return f"<TaskHandle {info.id} {info.name} {info.status.value}{_facts(info)}>"


def html_of(info: TaskInfo, url: str) -> str:
    """Return a task as a small table; every text of it is escaped."""
    colour = COLOURS.get(info.status, WAITING)
    shown = escape(info.id)
    if url.startswith(("http://", "https://")):
        shown = f'<a href="{escape(url, quote=True)}" target="_blank" rel="noopener">{shown}</a>'
    status = f'<span style="color:{colour}">{info.status.value}</span>'
    parts = [
        f"<div><strong>{escape(info.name)}</strong> {status}{escape(_facts(info))}</div>",
        f"<div><code>{shown}</code></div>",
        _progress(info),
    ]
    if info.error is not None:
        parts.append(f"<pre>{escape(info.error.kind)}: {escape(info.error.message)}</pre>")
    return f'<div class="drumline-task">{"".join(parts)}</div>'


def _facts(info: TaskInfo) -> str:
    facts = [f"attempt {info.attempt} of {info.retries + 1}"] if info.attempt else []
    if info.started_at is not None and info.finished_at is not None:
        facts.append(f"took {format_duration(info.finished_at - info.started_at)}")
    return "".join(f", {fact}" for fact in facts)


def _progress(info: TaskInfo) -> str:
    progress = info.progress
    if progress is None:
        return ""
    bar = ""
    if progress.total:
        done, total = f"{progress.done:g}", f"{progress.total:g}"
        bar = f'<progress value="{done}" max="{total}"></progress> {done}/{total} '
    return f"<div>{bar}{escape(progress.message)}</div>"
