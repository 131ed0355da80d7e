"""Zones are shared by all threads of a process: who looks for one second gets the answer for that one."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from drumline.core.clock import LATEST, Instant
from drumline.core.timetable import Rule, timetable
from drumline.core.zone import OffsetPeriod, Zone, zone_of

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

    assert isinstance(found, OffsetPeriod)
    assert found.start <= WINTER < found.end
    assert found.offset == 3600


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "America/New_York"])
@pytest.mark.parametrize("cron", ["0 3 * * *", "* * * * *", "0 0 29 2 *"])
def test_rules_end_with_the_calendar_and_break_nothing(name: str, cron: str) -> None:
    rule = timetable(Rule(cron=cron, timezone=name))

    for at in (LATEST, LATEST - 1000, LATEST - 86_400_000 * 400, LATEST + 10**9):
        found = rule.next_after(Instant(at))
        assert found is None or found <= LATEST
        assert rule.count(Instant(at - 1000), Instant(at)) >= 0
    assert zone_of(name).shown(LATEST).year == 9999
