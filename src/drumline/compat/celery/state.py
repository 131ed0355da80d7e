"""Which app is the current one, and ids that a client gives."""

from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

_APPS: Final[list[Any]] = []
"""Every app of this program; the last that was made current is at the end."""


def current_app() -> "Celery":
    """Return the current app: the one made last, or a new one if there is none."""
    if not _APPS:
        from drumline.compat.celery.app import Celery  # noqa: PLC0415 - which imports this module

        Celery("default")
    app: Celery = _APPS[-1]
    return app


def apps() -> tuple["Celery", ...]:
    """Return every app of this program."""
    return tuple(_APPS)


def make_current(app: "Celery") -> None:
    """Make an app the current one."""
    if app in _APPS:
        _APPS.remove(app)
    _APPS.append(app)


def forget(app: "Celery") -> None:
    """Count an app no more: it is neither current, nor given shared tasks that are defined later."""
    if app in _APPS:
        _APPS.remove(app)


def new_id() -> str:
    """Return an id for a task that is not submitted yet."""
    return str(uuid4())
