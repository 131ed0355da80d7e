"""Airflow: a DAG whose tasks run one after the other, by the local executor, on PostgreSQL.

Settings: https://airflow.apache.org/docs/apache-airflow/stable/core-concepts/executor/local.html,
https://airflow.apache.org/docs/apache-airflow/stable/configurations-ref.html and
https://airflow.apache.org/docs/apache-airflow/stable/administration-and-deployment/scheduler.html: the pause of an idle
scheduler is shorter, as that page proposes. A run is started, and asked for, by its API.
"""

import json
import os
import subprocess
import sys
import time
from urllib.error import HTTPError

from flow_harness import BIN, FOLDER, READY_SECONDS, ask, main, running
from harness import PORTS, POSTGRES_URL, until

PAUSE = 0.05
DAGS = """
from datetime import datetime
from airflow.sdk import dag, task


def fibo(n):
    return n if n <= 1 else fibo(n - 1) + fibo(n - 2)


def sequence(name, count, number):
    @dag(dag_id=name, schedule=None, start_date=datetime(2024, 1, 1), catchup=False)
    def flow():
        before = None
        for place in range(count):
            now = task(task_id=f"task_{{place}}")(fibo)(number)
            if before is not None:
                before >> now
            before = now

    return flow()


made = [sequence(f"flow_{{place}}", *flow) for place, flow in enumerate({flows})]
"""
API = f"http://127.0.0.1:{PORTS[0]}"
SETTINGS = {
    "CORE__DAGS_FOLDER": str(FOLDER / "dags"),
    "CORE__LOAD_EXAMPLES": "False",
    "CORE__EXECUTOR": "LocalExecutor",
    "CORE__PARALLELISM": "2",
    "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
    "CORE__EXECUTION_API_SERVER_URL": f"{API}/execution/",
    "CORE__INTERNAL_API_SECRET_KEY": "bench",
    "API_AUTH__JWT_SECRET": "a secret of this benchmark, which is as long as it has to be: 64 bytes",
    "API__HOST": "127.0.0.1",
    "API__PORT": str(PORTS[0]),
    "API__WORKERS": "1",
    "DATABASE__SQL_ALCHEMY_CONN": POSTGRES_URL.replace("postgresql://", "postgresql+psycopg2://"),
    "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": str(PAUSE),
    "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
    "SCHEDULER__ENABLE_HEALTH_CHECK": "False",
    "WORKERS__EXECUTION_API_TIMEOUT": "60",
    "LOGGING__LOGGING_LEVEL": "ERROR",
    "USAGE_DATA_COLLECTION__ENABLED": "False",
}
ENDED = ("success", "failed")


def begin() -> None:
    """Write the DAGs and make the schema."""
    flows = json.loads(sys.argv[1])
    (FOLDER / "dags").mkdir()
    (FOLDER / "dags" / "flows.py").write_text(DAGS.format(flows=list(flows.values())))
    os.environ |= {f"AIRFLOW__{name}": value for name, value in SETTINGS.items()} | {"AIRFLOW_HOME": str(FOLDER)}
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    subprocess.run([str(BIN / "airflow"), "db", "migrate"], check=True, stdout=sys.stderr)


def run(name: str, *_: int) -> None:
    """Start a run and wait for its end."""
    place = list(json.loads(sys.argv[1])).index(name)
    token = ask("/auth/token")["access_token"]
    runs = f"/api/v2/dags/flow_{place}/dagRuns"
    made = ask(runs, {"logical_date": None}, "POST", token)
    while (state := ask(f"{runs}/{made['dag_run_id']}", token=token)["state"]) not in ENDED:
        time.sleep(PAUSE)
    if state != "success":
        raise RuntimeError("the flow has failed")


def is_known() -> None:
    """Raise until the DAGs are listed."""
    token = ask("/auth/token")["access_token"]
    if ask("/api/v2/dags", token=token)["total_entries"] < len(json.loads(sys.argv[1])):
        raise HTTPError(API, 404, "not yet", None, None)  # type: ignore[arg-type]


if __name__ == "__main__":
    begin()
    airflow = str(BIN / "airflow")
    with running([airflow, "api-server"], [airflow, "scheduler", "--skip-serve-logs"], [airflow, "dag-processor"]):
        until(is_known, READY_SECONDS)
        main("apache-airflow", run)
