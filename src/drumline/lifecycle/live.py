"""Live settings: a running process applies changed settings, or refuses all of a change.

Looked at are the settings file, the Parameter Store and the runtime configuration in the store, each as often as the
settings say. What has changed is read and checked in full; only then does anybody hear of it. A configuration that
cannot be is refused: it is logged, shown in health, and the one before it holds until there is another.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import structlog
from msgspec.structs import replace

from drumline.core.errors import DrumlineError
from drumline.core.metrics import Metrics
from drumline.core.runtime_config import NO_CONFIG, RuntimeConfig
from drumline.engine.configuration import ConfigState
from drumline.engine.engine import Engine
from drumline.observe.logging import set_level
from drumline.settings import Loaded, Settings, Sources
from drumline.settings.convert import policy_of, tuning_of
from drumline.settings.leaves import LEAVES, built, plain_value, read_value, value_at
from drumline.settings.parameters import SCHEME
from drumline.settings.sources import SettingsSource, from_runtime

if TYPE_CHECKING:
    from drumline.remote import RemoteGateway

RUNTIME: Final = "runtime configuration"
LOOK_SECONDS: Final = 30.0
"""How long one look may take."""
FIRST_SECONDS: Final = 5.0
"""How long a process that starts waits for the runtime configuration."""

Follower = Callable[[Settings], None]

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Runtime(Protocol):
    """The source of the runtime configuration: the store, or the API server of a remote worker."""

    async def version(self) -> int:
        """Return the number of the newest version."""
        ...

    async def get(self) -> RuntimeConfig:
        """Return the newest version."""
        ...


class RemoteRuntime:
    """The runtime configuration as the servers of a remote worker tell it: beats bring the number of its version."""

    def __init__(self, gateway: "RemoteGateway") -> None:
        self._gateway = gateway

    async def version(self) -> int:
        """Return the newest version that is known."""
        return self._gateway.config_version

    async def get(self) -> RuntimeConfig:
        """Return the newest version."""
        return await self._gateway.runtime_config()


class Readable(Protocol):
    """A source of settings; `settings.Sources` is one."""

    outside: tuple[SettingsSource, ...]

    def load(self, runtime: Mapping[str, object] | None = None) -> Loaded:
        """Return the settings, or raise `Invalid`."""
        ...


class Fixed:
    """Settings given as a value: only the runtime configuration can change them."""

    outside: tuple[SettingsSource, ...] = ()

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def load(self, runtime: Mapping[str, object] | None = None) -> Loaded:
        """Return them with the runtime configuration over them."""
        given = from_runtime(runtime or {}, label=self._settings.worker.label)
        values = {path: value_at(self._settings, path) for path in LEAVES}
        values |= {path: read_value(LEAVES[path], value) for path, value in given.items()}
        return Loaded(built(values), {path: value.source for path, value in given.items()})


class _Looked:
    """A source that is polled."""

    def __init__(self, name: str, every: float, look: Callable[[], Any]) -> None:
        self.name = name
        self.every = every
        self.look = look
        self.stamp: object = None
        self.due = 0.0
        self.is_away = False


class Live:
    """The settings of this process as they are now, and those who go by them."""

    def __init__(self, settings: Settings, sources: Readable | None, runtime: Runtime) -> None:
        self.settings = settings
        self.state = ConfigState()
        self._first = settings
        self._read: Settings | None = None
        self._sources = sources or Fixed(settings)
        self._runtime = runtime
        self._config = NO_CONFIG
        self._followers: list[Follower] = []
        self._tellers: list[Callable[[ConfigState], None]] = []
        self._looked = self._all_looked()

    def follow(self, follower: Follower) -> None:
        """Call `follower` with the settings after each change."""
        self._followers.append(follower)

    def tell(self, teller: Callable[[ConfigState], None]) -> None:
        """Call `teller` with the state of the configuration, now and whenever it changes."""
        self._tellers.append(teller)
        teller(self.state)

    async def begin(self) -> None:
        """Load the settings; a runtime configuration that cannot be read now is applied later."""
        loop = asyncio.get_running_loop()
        for looked in self._looked:
            try:
                async with asyncio.timeout(FIRST_SECONDS):
                    stamp = await looked.look()
                    if looked.name == RUNTIME:
                        self._config = await self._runtime.get()
                    looked.stamp = stamp  # what could not be read has to look new the next time
            except (DrumlineError, TimeoutError, OSError) as error:
                self._away(looked, error)
            looked.due = loop.time() + looked.every
        await self._reload()

    async def run(self, stop: asyncio.Event) -> None:
        """Poll the sources until `stop` is set."""
        loop = asyncio.get_running_loop()
        while self._looked and not stop.is_set():
            pause = max(min(looked.due for looked in self._looked) - loop.time(), 0.001)
            try:
                async with asyncio.timeout(pause):
                    await stop.wait()
            except TimeoutError:
                await self._pass_safely()

    async def _pass_safely(self) -> None:
        try:
            await self.pass_once()
        except Exception:  # a process outlives whatever a source or a follower raises
            log.exception("settings.look_failed")

    async def pass_once(self) -> bool:
        """Poll the sources that are due, and apply what has changed; tell whether anything has."""
        now = asyncio.get_running_loop().time()
        changed = False
        for looked in self._looked:
            if looked.due <= now:
                looked.due = now + looked.every
                changed = await self._look(looked) or changed
        if changed:
            await self._reload()
        return changed

    async def _look(self, looked: _Looked) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                stamp = await looked.look()
                if stamp != looked.stamp and looked.name == RUNTIME:
                    self._config = await self._runtime.get()
        except (DrumlineError, TimeoutError, OSError) as error:
            self._away(looked, error)
            return False
        if looked.is_away:
            looked.is_away = False
            log.info("settings.reachable", source=looked.name)
        is_changed: bool = stamp != looked.stamp
        looked.stamp = stamp
        return is_changed

    def _away(self, looked: _Looked, error: Exception) -> None:
        # What was known holds. An outage is news once.
        if not looked.is_away:
            looked.is_away = True
            log.warning("settings.unreachable", source=looked.name, error=str(error) or type(error).__name__)

    async def _reload(self) -> None:
        try:
            loaded = await asyncio.to_thread(self._sources.load, self._config.settings)
            policy_of(loaded.settings.access)
        except DrumlineError as error:
            self._refuse(error.message)
            return
        wanted = {path: value_at(loaded.settings, path) for path in LEAVES}
        # What was read first, not what the process goes by: it may have found a key of its own since.
        first = self._read = self._read or loaded.settings
        restart = tuple(
            path for path, value in wanted.items() if not LEAVES[path].is_live and value != value_at(first, path)
        )
        if restart and restart != self.state.restart:
            log.warning("settings.need_restart", settings=list(restart))
        kept = {path: value if LEAVES[path].is_live else self._at(path) for path, value in wanted.items()}
        self._take_over(built(kept))
        self._set_state(ConfigState(version=self._config.version, restart=restart))

    def _refuse(self, reason: str) -> None:
        log.error("settings.refused", reason=reason)
        self._set_state(replace(self.state, refused=reason))

    def _at(self, path: str) -> object:
        return value_at(self._first, path)

    def _take_over(self, new: Settings) -> None:
        old = self.settings
        changes = {
            path: f"{plain_value(value_at(old, path))} -> {plain_value(value_at(new, path))}"
            for path in LEAVES
            if value_at(old, path) != value_at(new, path)
        }
        if not changes:
            return
        self.settings = new
        for follower in self._followers:
            follower(new)
        log.info("settings.changed", changes=changes, version=self._config.version)

    def _set_state(self, state: ConfigState) -> None:
        self.state = state
        for teller in self._tellers:
            teller(state)

    def _all_looked(self) -> list[_Looked]:
        watch = self.settings.watch
        looked = [_Looked(RUNTIME, watch.runtime_every.total_seconds(), self._runtime.version)]
        for source in self._sources.outside:
            every = watch.parameters_every if source.name.startswith(SCHEME) else watch.file_every
            looked.append(_Looked(source.name, every.total_seconds(), _in_thread(source.stamp)))
        return [each for each in looked if each.every]


def _in_thread(look: Callable[[], object]) -> Callable[[], Any]:
    return lambda: asyncio.to_thread(look)


def show_config_state(metrics: Metrics) -> Callable[[ConfigState], None]:
    """Return a callback that shows the state of the configuration in metrics."""

    def show(state: ConfigState) -> None:
        metrics.config_version.set(state.version)
        metrics.config_refused.set(state.refused is not None)

    return show


@asynccontextmanager
async def following(engine: Engine, settings: Settings, sources: Sources | None) -> AsyncIterator[Live]:
    """Give the live settings of a process with an engine, which goes by them; those who serve in it may follow too."""
    live = Live(settings, sources, engine.configuration)
    live.follow(lambda new: engine.tune(tuning_of(new)))
    live.follow(lambda new: engine.access.use_policy(policy_of(new.access)))
    engine.tune(tuning_of(settings))
    live.tell(lambda state: setattr(engine.configuration, "state", state))
    live.tell(show_config_state(engine.metrics))
    async with kept_live(live):
        yield live


@asynccontextmanager
async def kept_live(live: Live) -> AsyncIterator[Live]:
    """Keep settings live while inside."""
    live.follow(lambda new: set_level(new.log.level))
    await live.begin()
    stop = asyncio.Event()
    watching = asyncio.create_task(live.run(stop), name="live settings")
    try:
        yield live
    finally:
        stop.set()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
