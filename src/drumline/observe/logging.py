"""Logs are events with fields, on standard error: text for people, JSON for machines (see `ecs.py`).

Our own events and what libraries and tasks say through `logging` come out in one form. An event's name is
`thing.happened`; its facts are fields, never part of the name.

A user who chooses the value of a field cannot write a line of their own: JSON has no lines inside, and in text every
control character is escaped. Fields with telling names, and secrets that a task was given, are not written.

A line never raises: whether it can be written, and whether its fields can be shown, is no concern of the code that
logs it.
"""

import asyncio
import logging
import re
import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final, Literal

import structlog

from drumline.core.log_fields import extra_of, facts_of
from drumline.core.masking import masked
from drumline.core.redaction import DEFAULT_REDACTION, REDACTED, Redaction
from drumline.core.streams import LenientStream, is_terminal
from drumline.core.task_log import MOST_A_SECOND, TASK_LOG
from drumline.observe.ecs import add_context, to_ecs

Format = Literal["auto", "text", "json"]
TaskLevel = Literal["auto", "off", "debug", "info", "warning"]
_Filtering: Any = structlog.make_filtering_bound_logger(logging.NOTSET)
MARGIN: Final = "    | "

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def set_up_logging(
    level: str,
    format: Format = "auto",
    *,
    redaction: Redaction = DEFAULT_REDACTION,
    tasks: TaskLevel = "off",
    tasks_per_second: int = MOST_A_SECOND,
) -> None:
    """Log events of at least `level` to standard error, and lines about tasks at the level `tasks`."""
    stream = LenientStream(sys.stderr)
    as_text = format == "text" or (format == "auto" and is_terminal(sys.stderr))
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        add_context,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if as_text else "iso", utc=not as_text),
    ]
    form = (one_line, _text_renderer()) if as_text else (to_ecs, _json_renderer())
    last: list[structlog.typing.Processor] = [structlog.processors.format_exc_info, concealer(redaction), *form]
    structlog.configure(
        # The level may change while loggers are in use, so it is looked at for each event.
        processors=[drop_unimportant, *shared, *last],
        wrapper_class=SafeLogger,
        logger_factory=structlog.WriteLoggerFactory(stream),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )
    handler = ProcessHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name, add_fields],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(handlers=[handler], force=True)
    TASK_LOG.later = _call_later
    TASK_LOG.set_up(_task_level(tasks, as_text=as_text), per_second=tasks_per_second)
    set_level(level)


def _call_later(say: Callable[[], None]) -> bool:
    """Have it called in a second, if a loop runs in this thread."""
    try:
        asyncio.get_running_loop().call_later(1.0, say)
    except RuntimeError:
        return False
    return True


def _task_level(tasks: TaskLevel, *, as_text: bool) -> int | None:
    """Return the level of lines about tasks; left to itself it is for machines that gather logs, not for a terminal."""
    word = ("debug" if as_text else "info") if tasks == "auto" else tasks
    return None if word == "off" else logging.getLevelNamesMapping()[word.upper()]


class ProcessHandler(logging.StreamHandler[LenientStream]):
    """Writes the records of libraries and tasks to the log of the process; a record that it cannot show is named."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in the standard library
        """Write where the record comes from, in place of it; raises nothing."""
        self.stream.write(f"log.unwritable: a record of {record.name!r}, line {record.lineno} of {record.filename!r}\n")


class SafeLogger(_Filtering):  # type: ignore[misc]
    """Writes events; one whose fields cannot be shown is written by its name alone."""

    def _proxy_to_logger(self, method_name: str, event: str | None = None, *args: Any, **fields: Any) -> Any:
        try:
            return super()._proxy_to_logger(method_name, event, *args, **fields)
        except Exception as error:  # noqa: BLE001 - such as a __repr__ of user code
            with suppress(Exception):
                self._logger.msg(f"log.unwritable: {event!r}: {type(error).__name__}")
            return None


def add_fields(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the fields of a `logging` record: those of `extra=` under `extra`."""
    record: logging.LogRecord = event["_record"]
    event.update(facts_of(record))
    if extra := extra_of(record):
        event["extra"] = extra
    return event


def concealer(redaction: Redaction) -> structlog.typing.Processor:
    """Return the step that takes out what is not to be written."""

    def conceal(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        for name, value in event.items():
            if redaction.hides(name):
                event[name] = REDACTED
            elif isinstance(value, str):
                event[name] = masked(value)
            elif isinstance(value, dict | list):
                event[name] = redaction.value(value)
        return event

    return conceal


def one_line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters; the lines of a traceback are indented."""
    for name, value in event.items():
        if name == "exception" and isinstance(value, str):
            lines = [_CONTROL.sub(_escaped, line) for line in value.split("\n")]
            event[name] = "\n".join(f"{MARGIN}{line}" for line in lines)
        elif isinstance(value, str):
            event[name] = _CONTROL.sub(_escaped, value)
    return event


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _text_renderer() -> structlog.typing.Processor:
    return structlog.dev.ConsoleRenderer(
        colors=is_terminal(sys.stderr), pad_event_to=24, exception_formatter=structlog.dev.plain_traceback
    )


def _json_renderer() -> structlog.typing.Processor:
    return structlog.processors.JSONRenderer(default=str, ensure_ascii=False)


QUIET: Final = ("uvicorn", "httpx", "httpcore", "asyncio", "botocore", "urllib3")
"""What these libraries do all day is not news; what goes wrong is."""

_current = {"level": logging.INFO}


def set_level(level: str) -> None:
    """Write events of at least `level` from now on."""
    number = logging.getLevelNamesMapping()[level.upper()]
    _current["level"] = number
    TASK_LOG.set_threshold(number)
    logging.getLogger().setLevel(number)
    for quiet in QUIET:
        logging.getLogger(quiet).setLevel(max(number, logging.WARNING))


def drop_unimportant(_logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Let an event through if it is important enough now; the first step of its way."""
    number = logging.getLevelNamesMapping().get(method.upper(), logging.ERROR)  # an exception is an error
    if number < _current["level"]:
        raise structlog.DropEvent
    return event
