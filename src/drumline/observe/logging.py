"""Logs are events with fields, on standard error: text for people, JSON for machines.

Our own events and what libraries and tasks say through `logging` come out in one form. An event's name is
`thing.happened`; its facts are fields, never part of the name.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

Format = Literal["auto", "text", "json"]


def set_up_logging(level: str, format: Format = "auto") -> None:
    """Write events of at least `level` to standard error."""
    number = logging.getLevelNamesMapping()[level.upper()]
    as_text = format == "text" or (format == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if as_text else "iso", utc=not as_text),
    ]
    last = _text_renderer() if as_text else [structlog.processors.format_exc_info, _rename, _json_renderer()]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(number),
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
    logging.basicConfig(level=number, handlers=[handler], force=True)
    # What libraries do all day is not news; what goes wrong is.
    for noisy in ("uvicorn", "httpx", "httpcore", "asyncio"):
        logging.getLogger(noisy).setLevel(max(number, logging.WARNING))


def _text_renderer() -> list[structlog.typing.Processor]:
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=24)]


def _json_renderer() -> structlog.typing.Processor:
    return structlog.processors.JSONRenderer(default=str, ensure_ascii=False)


def _rename(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {"time": event.pop("timestamp"), "level": event.pop("level"), "event": event.pop("event"), **event}
