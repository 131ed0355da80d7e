"""The least important events that are written, which may change while a process runs."""

import logging
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

from drumline.core.task_log import TASK_LOG

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
