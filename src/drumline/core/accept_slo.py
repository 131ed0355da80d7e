"""Accepting a service level objective, and changes of one."""

from typing import Annotated, ClassVar, Final

from msgspec import UNSET, Struct, UnsetType

from drumline.core.duration import format_millis, millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.field_schema import QUEUE, Schema, about, duration, line
from drumline.core.names import LONGEST_NAME, check_name, check_queue
from drumline.core.slo import DAY, KEPT_DAYS, Objective, SloDefinition
from drumline.core.stats import BOUNDS

LONGEST_SLO_NAME: Final = LONGEST_NAME - 20
"""So that the names of its alerts have room."""
LEAST_TARGET: Final = 0.5
MOST_TARGET: Final = 0.99999
USUAL_PERIOD: Final = "30d"

_TARGET: Final = about(
    "The share that has to go well.", minimum=LEAST_TARGET, maximum=MOST_TARGET, examples=[0.995]
)  # fmt: skip
_PERIOD: Final = about(
    "Over how long, from 1d to 30d.", anyOf=[{"type": "string", "pattern": "^([1-9]|[12][0-9]|30)d$"}],
    examples=["7d", "30d"],
)  # fmt: skip
_WITHIN: Final = duration(
    "For `start`: the time in which tasks have to start, from when they are due. One of "
    + ", ".join(format_millis(bound) for bound in BOUNDS) + "."
)  # fmt: skip


class SloRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An objective that is asked for."""

    name: Annotated[str, line(LONGEST_SLO_NAME, "What people call it; one of a name.")]
    task: Annotated[str, line(description="The tasks that it is about.")]
    queue: Annotated[str | None, about("Only those in this queue.", **QUEUE)] = None
    objective: Objective = Objective.SUCCESS
    within: Annotated[float | str | None, _WITHIN] = None
    target: Annotated[float, _TARGET]
    period: Annotated[float | str, _PERIOD] = USUAL_PERIOD
    alerts: Annotated[
        bool, about("Whether to create two alerts with it: a fast burn (1h, 14.4 times) and a slow one (6h, 6 times).")
    ] = True


class SloPatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changes to an objective: absent fields stay. With another target, time or period it is counted anew."""

    SCHEMA: ClassVar[Schema] = {"minProperties": 1}

    name: Annotated[str | UnsetType, line(LONGEST_SLO_NAME)] = UNSET
    within: Annotated[float | str | UnsetType, _WITHIN] = UNSET
    target: Annotated[float | UnsetType, _TARGET] = UNSET
    period: Annotated[float | str | UnsetType, _PERIOD] = UNSET


def accept_definition(request: SloRequest) -> SloDefinition:
    """Return the objective that is asked for, or raise `Invalid` naming the field at fault."""
    if not LEAST_TARGET <= request.target <= MOST_TARGET:
        raise Invalid(f"must be a share from {LEAST_TARGET} to {MOST_TARGET}", field="target")
    return SloDefinition(
        task=check_name(request.task, field="task"),
        queue=None if request.queue is None else check_queue(request.queue),
        objective=request.objective,
        within=_within(request),
        target=request.target,
        period=accept_period(request.period),
    )


def accept_slo_patch(patch: SloPatch, old: SloDefinition, *, name: str) -> SloDefinition:
    """Return an objective after a change, or raise `Invalid` naming the field at fault."""
    within = None if old.within is None else old.within / 1000
    return accept_definition(
        SloRequest(
            name=name,
            task=old.task,
            queue=old.queue,
            objective=old.objective,
            within=within if patch.within is UNSET else patch.within,
            target=old.target if patch.target is UNSET else patch.target,
            period=old.period / 1000 if patch.period is UNSET else patch.period,
        )
    )


def accept_period(given: float | str) -> int:
    """Return a period in milliseconds, or raise `Invalid`."""
    period = millis(parse_duration(given, field="period"))
    if not DAY <= period <= KEPT_DAYS * DAY or period % DAY:
        raise Invalid(f"must be from 1d to {KEPT_DAYS}d, in whole days", field="period")
    return period


def _within(request: SloRequest) -> int | None:
    is_start = request.objective is Objective.START
    if is_start != (request.within is not None):
        raise Invalid(
            "must be the time in which tasks have to start" if is_start else "is for `start` only", field="within"
        )
    if request.within is None:
        return None
    within = millis(parse_duration(request.within, field="within"))
    if within not in BOUNDS:
        raise Invalid("must be one of " + ", ".join(format_millis(bound) for bound in BOUNDS), field="within")
    return within
