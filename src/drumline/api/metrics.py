"""What this server counts: for Prometheus, and figure by figure for people."""

import platform
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from drumline.api.operation import TEXT, ApiCall, NoQuery, Operation, Reply, Tag
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.errors import Invalid, NotFound, Unavailable
from drumline.core.meters import Counter, Family, Gauge, Histogram, Labels
from drumline.core.metrics import OF_WORKERS

ALIASES: Final = MappingProxyType(
    {
        f"tasks.{word}": f"drumline_tasks_{word}_total"
        for word in ("submitted", "completed", "failed", "retried", "cancelled", "skipped")
    }
)
"""Names that the first design gave to figures."""


class NamesBody(Struct, frozen=True):
    """The figures there are."""

    names: tuple[str, ...]


class MetricQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which part of a figure: `label:value`, several separated by commas."""

    tag: str = ""


class MeasurementBody(Struct, frozen=True):
    """One number of a figure."""

    statistic: str
    value: float


class TagBody(Struct, frozen=True):
    """A label, and the values that it has."""

    tag: str
    values: tuple[str, ...]


class MetricBody(Struct, frozen=True, kw_only=True, rename="camel"):
    """A figure, summed over everything that was not asked for apart."""

    name: str
    description: str
    base_unit: str | None
    measurements: tuple[MeasurementBody, ...]
    available_tags: tuple[TagBody, ...]


class InfoBody(Struct, frozen=True, kw_only=True):
    """What runs here. Details are for those who may read figures."""

    app: dict[str, Any]


async def metrics(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the figures of this process, as Prometheus reads them."""
    if call.context.write_metrics is None:
        raise Unavailable("figures need prometheus-client: pip install 'drumline[server]'")
    accept = call.header(b"accept") or b""
    body, media = call.context.write_metrics(accept.decode("latin-1"))
    return Reply(body, media=media.encode())


async def names(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the names of all figures."""
    known = {family.name for family in call.engine.metrics.families()}
    return Reply(encode(NamesBody(tuple(sorted(known | ALIASES.keys())))))


async def metric(call: ApiCall[None, MetricQuery]) -> Reply:
    """Return one figure, with its labels; `tag` narrows it."""
    name = call.params["name"]
    family = await _family(call, ALIASES.get(name, name))
    if family is None:
        raise NotFound(f"there is no figure {name}; /actuator/metrics lists them", field="name")
    return Reply(encode(replace(_described(family, _read_tags(call.query.tag, family)), name=name)))


async def _family(call: ApiCall[None, MetricQuery], name: str) -> Family | None:
    """Return a figure: of the whole installation if it is the same everywhere, else of this process."""
    if name in {family.name for family in call.engine.metrics.installation_families()}:
        shared = await call.engine.installation.read()
        return next(family for family in shared.installation_families() if family.name == name)
    return next((family for family in call.engine.metrics.families() if family.name == name), None)


async def info(call: ApiCall[None, NoQuery]) -> Reply:
    """Tell what runs here."""
    app: dict[str, Any] = {"name": "drumline"}
    if may_see(call):
        app |= {"version": call.context.info.version, "python": platform.python_version()}
    return Reply(encode(InfoBody(app=app)))


def may_see(call: ApiCall[Any, Any]) -> bool:
    """Tell whether the caller may see how the installation fares: figures, and details of its health."""
    return call.caller is not None and Permission.SYSTEM_READ in call.caller.permissions


def _read_tags(text: str, family: Family) -> dict[str, str]:
    wanted: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        label, colon, value = part.partition(":")
        if not colon or label not in family.labels:
            known = ", ".join(family.labels) or "none"
            raise Invalid(f"{part!r} must be label:value, and the labels of {family.name} are: {known}", field="tag")
        wanted[label] = value
    return wanted


def _described(family: Family, wanted: dict[str, str]) -> MetricBody:
    chosen = [labels for labels in _series_of(family) if _is_wanted(family, labels, wanted)]
    if wanted and not chosen:
        raise NotFound(f"{family.name} has no figure with these labels", field="tag")
    return MetricBody(
        name=family.name,
        description=family.help,
        base_unit="seconds" if "_seconds" in family.name else None,
        measurements=_measured(family, chosen),
        available_tags=tuple(
            TagBody(label, tuple(sorted({labels[place] for labels in chosen})))
            for place, label in enumerate(family.labels)
            if label not in wanted and chosen
        ),
    )


def _series_of(family: Family) -> list[Labels]:
    match family:
        case Counter() | Gauge():
            return list(family.values)
        case Histogram():
            return list(family.series)
        case _:
            return []


def _is_wanted(family: Family, labels: Labels, wanted: dict[str, str]) -> bool:
    return all(value == wanted.get(label, value) for label, value in zip(family.labels, labels, strict=True))


def _measured(family: Family, chosen: list[Labels]) -> tuple[MeasurementBody, ...]:
    match family:
        case Counter():
            return (MeasurementBody("COUNT", sum(family.values[labels] for labels in chosen)),)
        case Gauge():
            return (MeasurementBody("VALUE", _gauged(family, chosen)),)
        case Histogram():
            count = sum(sum(family.series[labels].counts) for labels in chosen)
            total = sum(family.series[labels].sum for labels in chosen)
            word = "TOTAL_TIME" if "_seconds" in family.name else "TOTAL"
            return (MeasurementBody("COUNT", count), MeasurementBody(word, total))
        case _:
            return ()


def _gauged(gauge: Gauge, chosen: list[Labels]) -> float:
    """Return the sum of a gauge; workers are counted once, though they have a session in every shard."""
    if gauge.name not in OF_WORKERS:
        return sum(gauge.values[labels] for labels in chosen)
    largest: dict[Labels, float] = {}
    for *labels, shard in chosen:
        others = tuple(labels)
        largest[others] = max(largest.get(others, 0.0), gauge.values[*others, shard])
    return sum(largest.values())


OPERATIONS = (
    Operation(
        method="GET", path="/metrics", handler=metrics, tag=Tag.HEALTH, media=TEXT,
        summary="The metrics of this server, for Prometheus", permission=Permission.SYSTEM_READ,
    ),
    Operation(
        method="GET", path="/actuator/metrics", handler=names, tag=Tag.HEALTH, summary="List the metrics",
        answer=NamesBody, permission=Permission.SYSTEM_READ,
    ),
    Operation(
        method="GET", path="/actuator/metrics/{name}", handler=metric, tag=Tag.HEALTH,
        summary="One metric with its labels: of the whole installation, or of this server where it has its own",
        query=MetricQuery, answer=MetricBody, permission=Permission.SYSTEM_READ,
    ),
    Operation(
        method="GET", path="/actuator/info", handler=info, tag=Tag.HEALTH, summary="Tell what runs here",
        answer=InfoBody, is_open=True,
    ),
)  # fmt: skip
