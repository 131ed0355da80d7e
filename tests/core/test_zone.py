"""Zones are shared by all threads of a process: who looks for one second gets the answer for that one."""

from typing import Any
from zoneinfo import ZoneInfo

from drumline.core.zone import Stretch, Zone

WINTER, SUMMER = 1_737_000_000, 1_752_000_000


class Interrupted(Zone):
    """A zone in which another thread comes in between, whenever something is written."""

    other: int | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "_last" and self.other is not None:
            other, self.other = self.other, None
            self.stretch(other)


def test_a_look_is_answered_for_its_own_second_whoever_looks_meanwhile() -> None:
    zone = Interrupted("Europe/Berlin", ZoneInfo("Europe/Berlin"))
    zone.other = SUMMER

    found = zone.stretch(WINTER)

    assert isinstance(found, Stretch)
    assert found.start <= WINTER < found.end
    assert found.offset == 3600
