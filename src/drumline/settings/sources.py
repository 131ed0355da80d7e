"""Reading settings: file < environment < flags. Every refusal says where the bad value stands and what would do."""

import re
import types
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from drumline.core.duration import parse_duration
from drumline.core.errors import Invalid
from drumline.core.wording import choices_at, reword, suggestion
from drumline.settings.fields import Secret, Settings

PREFIX = "DRUMLINE_"
CONFIG_VARIABLE = "DRUMLINE_CONFIG"
CONFIG_FILE = Path("drumline.yaml")
COMMON_NAMES = {"DATABASE_URL": "store_url", "REDIS_URL": "queue_url"}
"""Variables that platforms set by themselves; the ones with our own prefix win over them."""

_OUTSIDE = re.compile(r"DRUMLINE_(TEST|BENCH)_\w+|\w+_SERVICE_(HOST|PORT)(_\w+)?|\w+_PORT_\d+_(TCP|UDP)(_\w+)?")
_SERVICE_LINK = re.compile(r"(tcp|udp)://")
_SCHEMES = {
    "store_url": ("sqlite:///", "postgresql://", "postgres://"),
    "queue_url": ("redis://", "rediss://", "redis+cluster://", "rediss+cluster://", "unix://"),
    "bus_url": ("kafka://",),
    "url": ("http://", "https://"),
    "public_url": ("http://", "https://"),
    "trace.endpoint": ("http://", "https://"),
}
_FLAGS = {
    "worker.concurrency": "concurrency",
    "worker.queues": "queue",
    "log.level": "log-level",
    "api_key": "api-key",
}
"""What the command line calls a setting, where it calls it otherwise."""
_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false"}


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
        """Tell whether it may also be read from a file that a `…_FILE` variable names."""
        return Secret in get_args(self.type)


class Given(Struct, frozen=True):
    """A value and where it stands; `textual` when it can only be text there."""

    value: object
    source: str
    textual: bool = False


def load_settings(
    environ: Mapping[str, str], *, flags: Mapping[str, object] | None = None, config: Path | None = None
) -> Settings:
    """Return the settings, or raise `Invalid` saying what stands where and why it cannot be."""
    leaves = {leaf.path: leaf for leaf in leaves_of(Settings)}
    given = dict(_from_file(_config_path(environ, config), leaves))
    given |= _from_environment(environ, leaves)
    given |= {
        path: Given(value, f"--{_FLAGS.get(path, path)}") for path, value in (flags or {}).items() if value is not None
    }
    tree: dict[str, Any] = {}
    for path, value in given.items():
        room, _, name = path.rpartition(".")
        (tree.setdefault(room, {}) if room else tree)[name] = _read(leaves[path], value)
    return _build(Settings, tree)


def leaves_of(struct: type[Struct], room: str = "") -> Iterator[Leaf]:
    """Yield everything that can be set in a struct and the structs inside it."""
    for info in msgspec.structs.fields(struct):
        path = room + info.name
        if isinstance(info.type, type) and issubclass(info.type, Struct):
            yield from leaves_of(info.type, path + ".")
        else:
            yield Leaf(path, info.type, info.default)


def _build(struct: type[Settings], tree: dict[str, Any]) -> Settings:
    for info in msgspec.structs.fields(struct):
        if info.name in tree and isinstance(info.type, type) and issubclass(info.type, Struct):
            tree[info.name] = info.type(**tree[info.name])
    return struct(**tree)


def _config_path(environ: Mapping[str, str], config: Path | None) -> Path | None:
    named = config or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    if named is None:
        return CONFIG_FILE if CONFIG_FILE.is_file() else None
    if not named.is_file():
        raise Invalid(f"there is no settings file {named}", field="config")
    return named


def _from_file(path: Path | None, leaves: Mapping[str, Leaf]) -> Iterator[tuple[str, Given]]:
    if path is None:
        return
    content = _parse_yaml(path)
    if content is None:
        return
    if not isinstance(content, dict):
        raise Invalid(f"{path} must hold keys and values, such as `port: 8080`", field="config")
    yield from _flatten(content, leaves, path, "")


def _flatten(
    content: Mapping[Any, object], leaves: Mapping[str, Leaf], file: Path, room: str
) -> Iterator[tuple[str, Given]]:
    rooms = {path.rpartition(".")[0] for path in leaves} - {""}
    for name, value in content.items():
        path = f"{room}{name}"
        if path in rooms and isinstance(value, dict):
            yield from _flatten(value, leaves, file, f"{path}.")
        elif path in leaves:
            if value is not None:
                yield path, Given(value, f"{path} in {file}")
        elif path in rooms:
            raise Invalid(f"{path} in {file} must hold keys and values", field=path)
        else:
            raise Invalid(f"{file} sets {path}, which does not exist{suggestion(path, [*leaves, *rooms])}", field=path)


def _parse_yaml(path: Path) -> object:
    try:
        import yaml  # noqa: PLC0415 - only those who have a settings file need it
    except ImportError as error:
        raise Invalid(f"reading {path} needs PyYAML: pip install 'drumline[server]'", field="config") from error
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not YAML: {' '.join(str(error).split())}", field="config") from error
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}", field="config") from error


def _from_environment(environ: Mapping[str, str], leaves: Mapping[str, Leaf]) -> dict[str, Given]:
    known = {leaf.variable: leaf for leaf in leaves.values()}
    ours = {name for name in environ if name.startswith(PREFIX) and environ[name]}
    files = {f"{leaf.variable}_FILE" for leaf in leaves.values() if leaf.is_secret}
    for name in sorted(ours - known.keys() - files - {CONFIG_VARIABLE}):
        if not _OUTSIDE.fullmatch(name) and not _is_service_link(name, environ[name]):
            # The prefix is the same in all of them, so it says nothing about which one was meant.
            hint = suggestion(name.removeprefix(PREFIX), [word.removeprefix(PREFIX) for word in (*known, *files)])
            hint = hint.replace("mean ", f"mean {PREFIX}")
            raise Invalid(f"{name} is set, but means nothing{hint}", field=name)
    given: dict[str, Given] = {}
    for name, path in COMMON_NAMES.items():
        given |= _from_variable(environ, name, leaves[path])
    for name, leaf in known.items():
        if not _is_service_link(name, environ.get(name, "")):
            given |= _from_variable(environ, name, leaf)
    return given


def _from_variable(environ: Mapping[str, str], name: str, leaf: Leaf) -> dict[str, Given]:
    text, file = environ.get(name), environ.get(f"{name}_FILE") if leaf.is_secret else None
    if text and file:
        raise Invalid(f"{name} and {name}_FILE are both set: keep one", field=leaf.path)
    if file:
        try:
            text = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{name}_FILE names {file}, which cannot be read: {error}", field=leaf.path) from error
        name = f"{name}_FILE"
    return {leaf.path: Given(text, name, textual=True)} if text else {}


def _is_service_link(name: str, value: str) -> bool:
    # Kubernetes gives every pod variables like DRUMLINE_PORT=tcp://10.0.0.7:8080 for a service called drumline.
    return name.endswith("_PORT") and _SERVICE_LINK.match(value) is not None


def _read(leaf: Leaf, given: Given) -> object:
    value = given.value
    try:
        if _plain(leaf.type) is timedelta and isinstance(value, str | int | float | timedelta):
            return parse_duration(value, field=leaf.path)
        if given.textual and isinstance(value, str):
            value = _split(leaf.type, value)
        read = msgspec.convert(value, leaf.type, strict=not given.textual, dec_hook=_decode_special)
    except msgspec.ValidationError as error:
        reason = reword(str(error), choices=choices_at(leaf.type, ""))
        raise Invalid(f"{given.source}: {reason}", field=leaf.path) from error
    except Invalid as error:
        raise Invalid(f"{given.source}: {error.message}", field=leaf.path) from error
    schemes = _SCHEMES.get(leaf.path)
    if schemes and not str(read).startswith(schemes):
        raise Invalid(f"{given.source}: must start with {' or '.join(schemes)}", field=leaf.path)
    return read


def _split(type_: Any, text: str) -> object:
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
