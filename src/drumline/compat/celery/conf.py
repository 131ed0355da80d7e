"""The configuration of an app: Celery's names in lower case. What has no meaning here is kept and not used."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

DEFAULTS: Final[Mapping[str, Any]] = {
    "task_always_eager": False,
    "task_eager_propagates": False,
    "task_default_queue": "default",
    "task_routes": None,
    "task_ignore_result": False,
    "task_track_started": False,
    "task_time_limit": None,
    "task_soft_time_limit": None,
    "task_default_priority": None,
    "task_allow_error_cb_on_chord_header": False,
    "beat_schedule": {},
    "timezone": "UTC",
    "enable_utc": True,
    "imports": (),
    "include": (),
    "task_protocol": 2,
    "task_serializer": "json",
    "result_serializer": "json",
    "accept_content": ("json",),
    "worker_concurrency": None,
    "broker_url": None,
    "result_backend": None,
    "broker_pool_acquire_timeout": None,
    "drumline_url": None,
    "drumline_api_key": None,
    "drumline_data": None,
}


class Settings(dict[str, Any]):
    """The settings by name, as items and as attributes."""

    def __init__(self, **given: Any) -> None:
        super().__init__(DEFAULTS)
        self["beat_schedule"] = {}
        self.update(given)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no setting {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def take(self, source: Any, *, namespace: str | None = None) -> None:
        """Take the settings of a module (or its name), of an object or of a mapping."""
        if isinstance(source, str):
            source = _imported(source)
        named = source if isinstance(source, Mapping) else {name: getattr(source, name) for name in dir(source)}
        start = f"{namespace}_" if namespace else ""
        for name, value in named.items():
            is_ours = name.startswith(start) and not name.startswith("_") and (name == name.lower() or start.isupper())
            if is_ours:
                self[name[len(start) :].lower()] = value


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found
