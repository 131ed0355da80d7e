"""Schedules that an app declares in its code, and the result of registering them."""

from typing import Annotated, Final

from msgspec import Struct

from drumline.core.field_schema import about, line, line_schema
from drumline.core.names import LONGEST_NAME
from drumline.core.schedule import ScheduleRequest

GONE: Final = "its code is gone"
"""How the reason begins for which schedules are paused by a registration; any other was a person's."""
MOST: Final = 1000
"""Schedules in one registration."""


class AppSchedule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A schedule that a module of an app declares."""

    module: Annotated[str, line(description="One of modules.")]
    schedule: ScheduleRequest


class RegisterRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All schedules that the loaded modules of an app declare."""

    app: Annotated[str, line(description="The app's name.")]
    modules: Annotated[
        tuple[str, ...],
        about(
            "The modules that are loaded. Schedules of these that are not named are paused.",
            items=line_schema(LONGEST_NAME),
        ),
    ]
    schedules: Annotated[tuple[AppSchedule, ...], about(maxItems=MOST)] = ()


class Registered(Struct, frozen=True, kw_only=True):
    """What a registration did, by the names of schedules."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()
    """Their code is gone."""
    refused: tuple[str, ...] = ()
    """The names are taken by schedules that are not of this app."""
