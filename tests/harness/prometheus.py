"""A private Prometheus that looks at processes of a test every two seconds."""

import json
import math
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
import yaml

from scripts import programs
from tests.harness.programs import Program, free_port, path_of, private_folder


def missing() -> str | None:
    """Return why there is no Prometheus to be had, or None if there is."""
    return programs.missing("prometheus")


class Prometheus:
    """Prometheus in a folder of its own."""

    def __init__(self, targets: Mapping[str, list[int]], rules: str) -> None:
        folder = private_folder("prometheus", None)
        (folder / "rules.yml").write_text(rules)
        config = {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}
                for job, ports in targets.items()
            ],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        port = free_port()
        command = [
            path_of("prometheus"),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        self._folder = folder
        self._url = f"http://127.0.0.1:{port}"
        self._http = urllib3.PoolManager(retries=False, timeout=10)
        self._program = Program(command, folder=folder, user=None, port=port)
        self._program.start(self._is_ready)

    def values(self, expression: str) -> list[float]:
        """Return the numbers that an expression has now."""
        answer = self._get(f"/api/v1/query?{urlencode({'query': expression})}")
        assert answer["status"] == "success", (expression, answer)
        values = [float(series["value"][1]) for series in answer["data"]["result"]]
        return [value for value in values if not math.isnan(value)]

    def firing(self) -> set[str]:
        """Return the alerts that fire."""
        alerts = self._get("/api/v1/alerts")["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def remove(self) -> None:
        """End it, and delete what it kept."""
        self._program.stop(signal.SIGTERM)
        for path in sorted(self._folder.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        self._folder.rmdir()

    def _is_ready(self) -> bool:
        try:
            return self._http.request("GET", f"{self._url}/-/ready").status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def _get(self, path: str) -> Any:
        return json.loads(self._http.request("GET", self._url + path).data)


def metric_names(expression: str) -> set[str]:
    """Return the metrics of an expression."""
    return set(re.findall(r"\b(?:drumline|process)_\w+", re.sub(r'"[^"]*"', "", expression)))


def load_rules(path: Path) -> dict[str, Any]:
    """Return the alerts of a file by name."""
    groups = yaml.safe_load(path.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}
