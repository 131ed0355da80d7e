"""Logs are events with fields, on standard error: text for people, JSON for machines (see `ecs.py`).

Our own events and what libraries and tasks say through `logging` come out in one form. An event's name is
`thing.happened`; its facts are fields, never part of the name.

Whoever chooses what stands in a field cannot write a line of their own: JSON has no lines inside, and in text every
control character is escaped. Fields with telling names, and secrets that a task was given, are not written.
"""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final, Literal

import structlog

from drumline.core.masking import masked
from drumline.core.redaction import DEFAULT_REDACTION, REDACTED, Redaction
from drumline.observe.ecs import add_context, to_ecs
from drumline.observe.level import drop_unimportant, set_level

Format = Literal["auto", "text", "json"]
MARGIN: Final = "    | "

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def set_up_logging(level: str, format: Format = "auto", *, redaction: Redaction = DEFAULT_REDACTION) -> None:
    """Write events of at least `level` to standard error."""
    as_text = format == "text" or (format == "auto" and sys.stderr.isatty())
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
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(handlers=[handler], force=True)
    set_level(level)


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
    """Escape control characters; the lines of a traceback stand apart by their margin."""
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
        colors=sys.stderr.isatty(), pad_event_to=24, exception_formatter=structlog.dev.plain_traceback
    )


def _json_renderer() -> structlog.typing.Processor:
    return structlog.processors.JSONRenderer(default=str, ensure_ascii=False)
