"""Temporal: standalone activities, its server with all four services on PostgreSQL.

Settings: https://docs.temporal.io/develop/python/activities/standalone-activities (`start_activity`),
https://docs.temporal.io/develop/worker-performance/configuration (pollers that scale themselves),
https://docs.temporal.io/references/configuration and the server's own config/development-postgres12.yaml, with more
connections and 16 shards instead of 4 (the timers of 512, which is proposed for a small cluster, made 800 commits a
second here by themselves). The limits of requests a second are raised so that none is met:
https://docs.temporal.io/references/dynamic-configuration. It has no call for many at once.
"""

import asyncio
import itertools
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
from harness import PORTS, POSTGRES_URL, SERVER, Peer, Producer, attend, main, tally
from temporalio import activity
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import PollerBehaviorAutoscaling, Worker

CONCURRENCY = 200
CONNECTIONS = 40
SHARDS = 16
TIMEOUT = timedelta(seconds=60)
DAY = timedelta(days=1)
QUEUE = "peer"
NAMESPACE = "default"
HOST = "127.0.0.1"
SERVICES = ("frontend", "history", "matching", "worker")
UNLIMITED = 1_000_000
LIMITS = ("frontend.rps", "frontend.namespaceRPS", "frontend.namespaceCount", "history.rps", "matching.rps")
STORE_LIMITS = ("frontend.persistenceMaxQPS", "history.persistenceMaxQPS", "matching.persistenceMaxQPS")


@activity.defn
async def noop(sent_ns: int) -> None:
    """Do nothing but count."""
    tally.count(sent_ns)


async def _connected() -> Client:
    return await Client.connect(f"{HOST}:{PORTS[0]}", namespace=NAMESPACE)


@asynccontextmanager
async def produce() -> AsyncIterator[Producer]:
    """Start each activity by a call of its own."""
    client, numbers, prefix = await _connected(), itertools.count(), f"{os.getpid()}-{os.urandom(4).hex()}"

    async def submit(sent_ns: int) -> None:
        name = f"{prefix}-{next(numbers)}"
        await client.start_activity(noop, sent_ns, id=name, task_queue=QUEUE, start_to_close_timeout=TIMEOUT)

    yield Producer(submit=submit)


async def _work() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
    worker = Worker(
        await _connected(),
        task_queue=QUEUE,
        activities=[noop],
        max_concurrent_activities=CONCURRENCY,
        activity_task_poller_behavior=PollerBehaviorAutoscaling(),
    )
    await worker.run()


def work() -> None:
    """Run one worker."""
    uvloop.run(_work())


def setup() -> None:
    """Make the schemas: one of the store, one of what is listed."""
    address = urlsplit(POSTGRES_URL)
    tool = [str(SERVER / "sql"), "--plugin", "postgres12", "--ep", str(address.hostname), "-p", str(address.port)]
    tool += ["-u", str(address.username), "--pw", "none"]
    database = address.path.lstrip("/")
    visibility = [*tool, "--db", f"{database}_visibility"]
    subprocess.run([*visibility, "drop", "-f"], check=False, capture_output=True)
    subprocess.run([*visibility, "create"], check=True, stdout=subprocess.DEVNULL)
    for name, db in (("temporal", database), ("visibility", f"{database}_visibility")):
        for command in (["setup-schema", "-v", "0.0"], ["update-schema", "--schema-name", f"postgresql/v12/{name}"]):
            subprocess.run([*tool, "--db", db, *command], check=True, stdout=subprocess.DEVNULL)


def _config(folder: Path) -> dict[str, object]:
    address = urlsplit(POSTGRES_URL)
    database = address.path.lstrip("/")

    def store(name: str) -> dict[str, object]:
        place = {
            "connectAddr": f"{address.hostname}:{address.port}",
            "connectProtocol": "tcp",
            "user": address.username,
        }
        connections = {"maxConns": CONNECTIONS, "maxIdleConns": CONNECTIONS, "maxConnLifetime": "1h"}
        return {"sql": {"pluginName": "postgres12", "databaseName": name, "password": "none", **place, **connections}}

    def service(place: int) -> dict[str, object]:
        own = {"grpcPort": PORTS[2 * place], "membershipPort": PORTS[2 * place + 1], "bindOnLocalHost": True}
        return {"rpc": own | ({"httpPort": PORTS[8]} if place == 0 else {})}

    frontend = {"rpcName": "frontend", "rpcAddress": f"{HOST}:{PORTS[0]}"}
    cluster = {"active": {"enabled": True, "initialFailoverVersion": 1, **frontend}}
    return {
        "log": {"stdout": True, "level": "error"},
        "persistence": {
            "defaultStore": "store",
            "visibilityStore": "visibility",
            "numHistoryShards": SHARDS,
            "datastores": {"store": store(database), "visibility": store(f"{database}_visibility")},
        },
        "global": {"membership": {"maxJoinDuration": "30s", "broadcastAddress": HOST}},
        "services": {name: service(place) for place, name in enumerate(SERVICES)},
        "clusterMetadata": {
            "enableGlobalNamespace": False,
            "failoverVersionIncrement": 10,
            "masterClusterName": "active",
            "currentClusterName": "active",
            "clusterInformation": cluster,
        },
        "dcRedirectionPolicy": {"policy": "noop"},
        "dynamicConfigClient": {"filepath": str(folder / "dynamic.yaml"), "pollInterval": "60s"},
    }


async def _register() -> None:
    """Make the namespace, as soon as the server can be asked to."""
    deadline = asyncio.get_running_loop().time() + 100
    while True:
        try:
            client = await _connected()
            request = RegisterNamespaceRequest(namespace=NAMESPACE)
            request.workflow_execution_retention_period.FromTimedelta(DAY)
            await client.workflow_service.register_namespace(request)
            break
        except (RPCError, RuntimeError):
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.5)
    while True:  # a new namespace is known to all services some seconds later
        try:
            await client.start_activity(noop, 0, id="first", task_queue="none", start_to_close_timeout=TIMEOUT)
            break
        except RPCError:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(0.5)


def attendant() -> None:
    """Run the server. JSON is YAML, too."""
    folder = Path(os.environ["PEER_TALLY_DIR"])
    values = {name: [{"value": UNLIMITED}] for name in LIMITS + STORE_LIMITS}
    (folder / "dynamic.yaml").write_text(json.dumps(values))
    (folder / "config.yaml").write_text(json.dumps(_config(folder)))
    command = [str(SERVER / "server"), "--config-file", str(folder / "config.yaml"), "--allow-no-auth", "start"]
    attend(command, lambda: asyncio.run(_register()))


def version() -> str:
    """Return the version of the server."""
    told = subprocess.run([str(SERVER / "server"), "--version"], check=True, capture_output=True, text=True).stdout
    return told.split()[-1]


if __name__ == "__main__":
    main(
        Peer(
            distribution="temporalio",
            producer=produce,
            run=uvloop.run,
            work=work,
            setup=setup,
            attend=attendant,
            version=version,
        )
    )
