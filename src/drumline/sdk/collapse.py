"""When a submission makes no task of its own: `task.options(collapse=Debounce("5s", key="invoice 7")).submit(…)`."""

from dataclasses import dataclass

from drumline.core.collapse import Collapse, Keep, While
from drumline.core.duration import Duration, parse_duration


@dataclass(frozen=True, slots=True)
class Debounce:
    """Run once, `wait` after the last submission of the key, and at the latest `at_most` after the first.

    A submission whose task waits still puts it off and, unless `keep` is `first`, gives it its own payload.
    """

    wait: Duration
    key: str | None = None
    at_most: Duration | None = None
    keep: Keep = "latest"

    def request(self) -> Collapse:
        """Return it as it is submitted."""
        at_most = None if self.at_most is None else _seconds(self.at_most, "at_most")
        return Collapse(
            debounce=_seconds(self.wait, "wait"), key=self.key, at_most=at_most, keep=_unless_default(self.keep)
        )


@dataclass(frozen=True, slots=True)
class Throttle:
    """Run the first at once, and all that come within `per` as one at its end, with the latest payload."""

    per: Duration
    key: str | None = None
    keep: Keep = "latest"

    def request(self) -> Collapse:
        """Return it as it is submitted."""
        return Collapse(throttle=_seconds(self.per, "per"), key=self.key, keep=_unless_default(self.keep))


@dataclass(frozen=True, slots=True)
class Singleton:
    """Make no task while one of the key is queued, or with `running` while one is queued or running."""

    while_: While = "running"
    key: str | None = None

    def request(self) -> Collapse:
        """Return it as it is submitted."""
        return Collapse(singleton=self.while_, key=self.key)


@dataclass(frozen=True, slots=True)
class Unique:
    """Make one task of the key within `per`, whatever becomes of it."""

    per: Duration
    key: str | None = None

    def request(self) -> Collapse:
        """Return it as it is submitted."""
        return Collapse(unique=_seconds(self.per, "per"), key=self.key)


CollapseOption = Debounce | Throttle | Singleton | Unique | Collapse


def collapse_of(option: CollapseOption) -> Collapse:
    """Return an option as it is submitted."""
    return option if isinstance(option, Collapse) else option.request()


def _seconds(value: Duration, field: str) -> float:
    return parse_duration(value, field=f"collapse.{field}").total_seconds()


def _unless_default(keep: Keep) -> Keep | None:
    return None if keep == "latest" else keep
