"""Where settings come from, and which wins: file < Parameter Store < environment < flags < runtime configuration.

Every refusal says where the bad value stands and what would do.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from drumline.core.errors import DrumlineError, Invalid
from drumline.core.json_errors import suggestion
from drumline.settings.environment import CONFIG_VARIABLE, from_environment
from drumline.settings.fields import Settings
from drumline.settings.leaves import LEAVES, Given, built, plain_value, read_value
from drumline.settings.parameters import SCHEME, parameter_path
from drumline.settings.yaml_file import YamlFile

CONFIG_FILE: Final = Path("drumline.yaml")
DEFAULT: Final = "default"
RUNTIME: Final = "runtime configuration"

_FLAGS: Final = {
    "worker.concurrency": "concurrency",
    "worker.queues": "queue",
    "log.level": "log-level",
    "api_key": "api-key",
}
"""What the command line calls a setting, where it calls it otherwise."""


class SettingsSource(Protocol):
    """Something outside the process that sets something, and may change."""

    name: str

    def stamp(self) -> object:
        """Return a value that differs once the content may have changed."""
        ...

    def read(self) -> dict[str, Given]:
        """Return what it sets, by path, or raise `Invalid`."""
        ...


class Loaded(Struct, frozen=True):
    """Settings, and for each value that is not a default, where it is set."""

    settings: Settings
    origins: Mapping[str, str]


class Sources:
    """All that one process reads its settings from, once or again."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        flags: Mapping[str, object] | None = None,
        config: str | Path | None = None,
    ) -> None:
        self._environ = dict(environ)
        self._flags = {path: value for path, value in (flags or {}).items() if value is not None}
        self.outside = _named_sources(environ, None if config is None else str(config))

    def load(self, runtime: Mapping[str, object] | None = None) -> Loaded:
        """Return the settings, or raise `Invalid` saying which is wrong, where it is set, and why."""
        given: dict[str, Given] = {}
        for read in self._readings():
            given |= read()
        given |= from_runtime(runtime or {}, label=_label(given))
        settings = built({path: read_value(LEAVES[path], value) for path, value in given.items()})
        return Loaded(settings, {path: value.source for path, value in given.items()})

    def problems(self) -> list[DrumlineError]:
        """Return everything that is wrong: what each source cannot be read for, and every value that cannot be."""
        found: list[DrumlineError] = []
        given: dict[str, Given] = {}
        for read in self._readings():
            try:
                given |= read()
            except DrumlineError as error:
                found.append(error)
        for path, value in given.items():
            try:
                read_value(LEAVES[path], value)
            except Invalid as error:
                found.append(error)
        return found

    def _readings(self) -> Iterator[Callable[[], dict[str, Given]]]:
        """Yield what reads each source, the one that the others win over first."""
        yield from (source.read for source in self.outside)
        yield lambda: from_environment(self._environ)
        yield lambda: {path: Given(value, f"--{_FLAGS.get(path, path)}") for path, value in self._flags.items()}


def load_settings(
    environ: Mapping[str, str], *, flags: Mapping[str, object] | None = None, config: str | Path | None = None
) -> Settings:
    """Return the settings, or raise `Invalid` saying which is wrong, where it is set, and why."""
    return Sources(environ, flags=flags, config=config).load().settings


def from_runtime(values: Mapping[str, object], *, label: str) -> dict[str, Given]:
    """Return what the runtime configuration sets for a process with this label; what it sets for a label wins."""
    given: dict[str, Given] = {}
    for key, value in sorted(values.items(), key=lambda item: "@" in item[0]):
        path, sign, whom = key.partition("@")
        # One that a newer version knows and this one does not is not this process's business.
        if path in LEAVES and LEAVES[path].is_live and (not sign or whom == label):
            given[path] = Given(value, f"{RUNTIME}, {key}", textual=isinstance(value, str))
    return given


def check_runtime(key: str, value: object) -> object:
    """Return a value for the runtime configuration as it is kept, or raise `Invalid` naming the key."""
    path, sign, label = key.partition("@")
    leaf = LEAVES.get(path)
    if leaf is None:
        raise Invalid(f"there is no setting {path}{suggestion(path, LEAVES)}", field="key")
    if not leaf.is_live:
        raise Invalid(f"{path} is read when a process starts, and cannot be changed while it runs", field="key")
    if sign and (not label or not path.startswith("worker.")):
        raise Invalid(f"{key}: only settings of workers can be set for a label, such as {path}@label", field="key")
    return plain_value(read_value(leaf, Given(value, key, textual=isinstance(value, str))))


def _label(given: Mapping[str, Given]) -> str:
    found = given.get("worker.label")
    return "" if found is None else str(found.value)


def _named_sources(environ: Mapping[str, str], config: str | None) -> tuple[SettingsSource, ...]:
    named = config or environ.get(CONFIG_VARIABLE)
    if not named:
        return (YamlFile(CONFIG_FILE),) if CONFIG_FILE.is_file() else ()
    return tuple(_source(name.strip()) for name in named.split(",") if name.strip())


def _source(name: str) -> SettingsSource:
    if name.startswith(SCHEME):
        return parameter_path(name)
    if not Path(name).exists() or Path(name).is_dir():  # /dev/null is one, to read none
        raise Invalid(f"there is no settings file {name}", field="config")
    return YamlFile(Path(name))
