"""An installation on several databases, each a PostgreSQL server with its own Redis."""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3

from bench.scale.rack import System, wait_until
from bench.services import Postgres, Redis, postgres, redis
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.stores.sealing import new_key_text

KEY: Final = "sk_bench_of_the_shards"
SECRET_KEY: Final = new_key_text()
START_SECONDS: Final = 30.0
_URL: Final = re.compile(r" on (http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True, kw_only=True)
class RedisDatabase(Redis):
    """One of the databases of a Redis server, so that systems which are measured in turn share the server."""

    number: int = 0

    @property
    def url(self) -> str:
        """Return its address."""
        return super().url.removesuffix("0") + str(self.number)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a shard is to be: a server of each kind."""

    server: Postgres
    broker: Redis

    def for_system(self, number: int) -> "Place":
        """Return it with the Redis database of this number."""
        broker = RedisDatabase(port=self.broker.port, pid=self.broker.pid, number=number)
        return Place(server=self.server, broker=broker)


@contextmanager
def places(count: int) -> Iterator[list[Place]]:
    """Run so many PostgreSQL servers, each with a Redis."""
    with ExitStack() as stack:
        yield [Place(server=stack.enter_context(postgres()), broker=stack.enter_context(redis())) for _ in range(count)]


@dataclass(frozen=True, kw_only=True)
class Sharded(System):
    """A system whose first database is the directory, with others beside it."""

    others: tuple[Place, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings of its processes."""
        queue = None if self.broker is None else Secret(self.broker.url)
        return Settings(store_url=Secret(self.store_url), queue_url=queue, secret_key=Secret(SECRET_KEY))

    def pids(self) -> dict[str, list[int]]:
        """Return the servers' processes."""
        found = super().pids()
        for place in self.others:
            found["postgres"].append(place.server.pid)
            found.setdefault("redis", []).append(place.broker.pid)
        return found

    def settle_down(self) -> None:
        """Leave nothing to autovacuum or a checkpoint that would disturb the next measurement."""
        self.execute_all("VACUUM ANALYZE")
        self.execute_all("CHECKPOINT")

    def execute_all(self, statement: str) -> list[str]:
        """Run a statement in every database, the directory first."""
        answers = [self.execute(statement)]
        return answers + [place.server.execute(statement, self.name).strip() for place in self.others]

    def spread(self) -> None:
        """Add the other databases, and give each as many slots as the directory has then."""
        if not self.others:
            return
        with ExitStack() as stack:
            api = Api.start(self, stack)
            for number, place in enumerate(self.others, 2):
                api.add(f"pg{number}", place, place.server.recreate(self.name))
            api.ask("POST", "/slots/move", {})

    def _environ(self) -> dict[str, str]:
        return super()._environ() | {"DRUMLINE_SECRET_KEY": SECRET_KEY, "DRUMLINE_API_KEY": KEY}


class Api:
    """An API server of a system, and what is asked of it."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self.pid = pid
        self._pool = urllib3.PoolManager(retries=False, timeout=60.0, headers={"X-API-Key": KEY})

    @classmethod
    def start(cls, system: System, stack: ExitStack) -> "Api":
        """Run an API server until the stack ends."""
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumline-api-")))
        log = folder / "log"
        words = ["api", "--port", "0", "--data", str(folder)]
        process = stack.enter_context(system.process(*words, log=log, DRUMLINE_API_KEY=KEY))
        wait_until(lambda: bool(_URL.search(log.read_text())), START_SECONDS, "the API server does not start")
        match = _URL.search(log.read_text())
        return cls(match[1] if match else "", process.pid)

    def add(self, name: str, place: Place, url: str) -> None:
        """Add a database as a shard."""
        self.ask("POST", "/shards", {"name": name, "store_url": url, "queue_url": place.broker.url})

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return what the server answers; anything but success is an error."""
        sent = None if body is None else json.dumps(body)
        reply = self._pool.request(method, f"{self.url}/api/v1{path}", body=sent)
        if reply.status >= 400:
            raise RuntimeError(f"{method} {path}: {reply.status} {reply.data.decode()}")
        return json.loads(reply.data) if reply.data else None
