"""Each thing that can be set by itself: its path, its type, and how a value from anywhere is read as that type."""

import types
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from drumline.core.codec import decode, explain
from drumline.core.duration import format_duration, parse_duration
from drumline.core.errors import Invalid
from drumline.core.json_errors import choices_at, reword
from drumline.core.names import check_name, check_queue, check_version
from drumline.core.rate import parse_rate
from drumline.settings.fields import Secret, Settings
from drumline.settings.queues import parse_queues

PREFIX: Final = "DRUMLINE_"
HIDDEN: Final = "***"
LONGEST_PREFIX: Final = 200
LIVE: Final = frozenset(
    {
        "worker.concurrency",
        "worker.queues",
        "worker.grace",
        "pauses.queues",
        "pauses.names",
        "tasks.retries",
        "tasks.backoff_base",
        "tasks.backoff_factor",
        "tasks.backoff_cap",
        "tasks.backoff_jitter",
        "tasks.payload_check",
        "tune.poll",
        "tune.submit_batch",
        "tune.claim_batch",
        "tune.report_batch",
        "access.admin_rate",
        "access.operator_rate",
        "access.submitter_rate",
        "access.worker_rate",
        "access.viewer_rate",
        "log.level",
    }
)
"""What running processes take over when it changes; the rest is read once, when a process starts."""

_SCHEMES: Final = {
    "store_url": ("sqlite:///", "postgresql://", "postgres://"),
    "queue_url": ("redis://", "rediss://", "redis+cluster://", "rediss+cluster://", "unix://"),
    "bus_url": ("kafka://",),
    "blob_url": ("file:///", "s3://"),
    "url": ("http://", "https://"),
    "public_url": ("http://", "https://"),
    "sms.url": ("http://", "https://"),
    "trace.endpoint": ("http://", "https://"),
}
_WORDS: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}


class Leaf(Struct, frozen=True):
    """One thing that can be set."""

    path: str
    type: Any
    default: object

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.path.replace(".", "_").upper()

    @property
    def is_secret(self) -> bool:
        """Tell whether it is never shown, and may also be read from a file that a `…_FILE` variable names."""
        return Secret in get_args(self.type) or _is_table(self.type)

    @property
    def is_live(self) -> bool:
        """Tell whether running processes take a change over."""
        return self.path in LIVE


class Given(Struct, frozen=True):
    """A value and where it is set; `textual` where it can only be text."""

    value: object
    source: str
    textual: bool = False


def leaves_of(struct: type[Struct], room: str = "") -> Iterator[Leaf]:
    """Yield everything that can be set in a struct and the structs inside it."""
    for info in msgspec.structs.fields(struct):
        path = room + info.name
        if isinstance(info.type, type) and issubclass(info.type, Struct):
            yield from leaves_of(info.type, path + ".")
        else:
            yield Leaf(path, info.type, info.default)


LEAVES: Final[Mapping[str, Leaf]] = types.MappingProxyType({leaf.path: leaf for leaf in leaves_of(Settings)})
ROOMS: Final = frozenset(path.rpartition(".")[0] for path in LEAVES) - {""}


def read_value(leaf: Leaf, given: Given) -> object:
    """Convert a value to its type, or raise `Invalid` saying which setting is wrong, where it is set, and why."""
    try:
        read = _convert(leaf, given)
        _CHECKS.get(leaf.path, _nothing)(read)
    except msgspec.ValidationError as error:
        if _is_table(leaf.type):
            inner = explain(error, field=leaf.path, type=leaf.type)
            raise Invalid(f"{given.source}: {inner}", field=inner.field) from error
        reason = reword(str(error), choices=choices_at(leaf.type, ""))
        raise Invalid(f"{given.source}: {reason}", field=leaf.path) from error
    except UnicodeEncodeError as error:  # bytes of the environment that are no UTF-8
        raise Invalid(f"{given.source}: is not valid UTF-8", field=leaf.path) from error
    except Invalid as error:
        raise Invalid(f"{given.source}: {error.message}", field=leaf.path) from error
    schemes = _SCHEMES.get(leaf.path)
    if schemes and not str(read).startswith(schemes):
        raise Invalid(f"{given.source}: must start with {' or '.join(schemes)}", field=leaf.path)
    return read


def built(values: Mapping[str, object]) -> Settings:
    """Return the settings with these values, by path, and the defaults for the rest."""
    tree: dict[str, Any] = {}
    for path, value in values.items():
        room, _, name = path.rpartition(".")
        (tree.setdefault(room, {}) if room else tree)[name] = value
    for info in msgspec.structs.fields(Settings):
        if info.name in tree and isinstance(info.type, type) and issubclass(info.type, Struct):
            tree[info.name] = info.type(**tree[info.name])
    return Settings(**tree)


def value_at(settings: Settings, path: str) -> object:
    """Return what is set at a path."""
    value: object = settings
    for name in path.split("."):
        value = getattr(value, name)
    return value


def plain_value(value: object) -> object:
    """Return a value as JSON or YAML shows it; secrets are hidden."""
    match value:
        case Secret():
            return HIDDEN
        case timedelta():
            return format_duration(value)
        case Path():
            return str(value)
        case tuple():
            return [_without_secrets(each) if isinstance(each, Struct) else each for each in value]
        case _:
            return value


def _without_secrets(row: Struct) -> dict[str, object]:
    return {
        name: HIDDEN if name.endswith("secret") and value is not None else plain_value(value)
        for name, value in msgspec.structs.asdict(row).items()
    }


def _convert(leaf: Leaf, given: Given) -> object:
    value = given.value
    if _plain(leaf.type) is timedelta and isinstance(value, str | int | float | timedelta):
        return parse_duration(value, field=leaf.path)
    if given.textual and isinstance(value, str):
        value = _split(leaf.type, value)
    return msgspec.convert(value, leaf.type, strict=not given.textual, dec_hook=_decode_special)


def _is_table(type_: Any) -> bool:
    """Tell whether it is a list of structs: as text that is JSON, and it may hold secrets."""
    parts = get_args(_plain(type_))
    return bool(parts) and isinstance(parts[0], type) and issubclass(parts[0], Struct)


def _split(type_: Any, text: str) -> object:
    if _is_table(type_):
        return decode(text, object, field="")
    if get_origin(_plain(type_)) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    return _WORDS.get(text.strip().lower(), text) if _plain(type_) is bool else text.strip()


def _plain(type_: Any) -> Any:
    """Return a type without the None beside it."""
    if get_origin(type_) in {Union, types.UnionType}:
        (plain,) = (part for part in get_args(type_) if part is not types.NoneType)
        return plain
    return type_


def _decode_special(type_: type, value: object) -> object:
    if not isinstance(value, str):
        raise msgspec.ValidationError(f"Expected `str`, got `{type(value).__name__}`")
    return Path(value).expanduser() if type_ is Path else type_(value)


# -- what a type cannot say


def _nothing(_value: Any) -> object:
    return None


def _are_queues(value: Any) -> object:
    return [check_queue(queue) for queue in value]


def _are_names(value: Any) -> object:
    return [check_name(name) for name in value]


def _is_rate(value: Any) -> object:
    return parse_rate(value, field="rate")


def _is_some_time(value: Any) -> object:
    if not timedelta(milliseconds=10) <= value <= timedelta(minutes=1):
        raise Invalid("must be from 10ms to 1m")
    return value


def _is_version(value: Any) -> object:
    return check_version(value, field="app_version") if value else value


def _is_key_prefix(value: Any) -> object:
    """Refuse a prefix with which keys that belong together would lie on different nodes of a cluster."""
    before, brace, rest = value.partition("{")
    tag, closing, after = rest.partition("}")
    if "}" in before or (brace and not (tag and closing)) or any(sign in tag + after for sign in "{}"):
        raise Invalid("must have no braces, or one pair with something in it, such as {app}:")
    if len(value) > LONGEST_PREFIX or not value.isprintable() or " " in value:
        raise Invalid(f"must be at most {LONGEST_PREFIX} characters, without spaces or control characters")
    return value


_CHECKS: Final[Mapping[str, Callable[[Any], object]]] = types.MappingProxyType(
    {
        "worker.queues": parse_queues,
        "pauses.queues": _are_queues,
        "pauses.names": _are_names,
        "tune.poll": _is_some_time,
        "queue_prefix": _is_key_prefix,
        "app_version": _is_version,
        "access.anonymous_rate": _is_rate,
        **{path: _is_rate for path in LIVE if path.endswith("_rate")},
    }
)
