"""Parameters of tasks that the worker fills."""

from typing import NoReturn


class Injected:
    """The default of a parameter that the worker fills; using it unfilled says what to do."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # so that inspect, copy and friends see a plain object
            raise AttributeError(name)
        raise RuntimeError(f"this parameter is filled by a worker; outside of one pass it yourself to use .{name}")
