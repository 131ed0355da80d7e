"""Prefect: a flow whose function is called in a process that stays, with its server on PostgreSQL.

Settings: https://docs.prefect.io/v3/advanced/self-hosted (the server, its database),
https://docs.prefect.io/v3/concepts/flows (a flow that is called runs at once, in the same process) and
https://docs.prefect.io/v3/api-ref/settings-ref. That is its fastest form: a deployment starts a process for each run.
"""

import os

from flow_harness import BIN, FOLDER, READY_SECONDS, ask, fibo, main, running
from harness import PORTS, POSTGRES_URL, until

os.environ |= {
    "PREFECT_HOME": str(FOLDER),
    "PREFECT_API_URL": f"http://127.0.0.1:{PORTS[0]}/api",
    "PREFECT_API_DATABASE_CONNECTION_URL": POSTGRES_URL.replace("postgresql://", "postgresql+asyncpg://"),
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "DO_NOT_TRACK": "1",
}

from prefect import flow, task  # only now: it reads these settings when it is imported

fibo_task = task(fibo)


@flow
def sequence(count: int, number: int) -> None:
    """Run tasks one after the other."""
    for _ in range(count):
        fibo_task(number)


def run(_: str, count: int, number: int) -> None:
    """Run a flow."""
    sequence(count, number)


if __name__ == "__main__":
    server = [str(BIN / "prefect"), "server", "start", "--host", "127.0.0.1", "--port", str(PORTS[0])]
    with running(server):
        until(lambda: ask("/api/health"), READY_SECONDS)
        main("prefect", run)
