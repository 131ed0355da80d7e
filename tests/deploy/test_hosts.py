"""Machines without Docker: units for systemd, the gateway and Prometheus, and the page that tells of them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from drumline.api.server import GRACE
from drumline.settings.leaves import LEAVES
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import CLOSE_SECONDS, LAST_SECONDS
from tests.deploy.files import DEPLOY, ROOT, check_command, run, settings_from
from tests.harness.programs import path_of

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
ENVIRONMENT = DEPLOY / "systemd" / "drumline.env"
HOSTS = DEPLOY / "hosts"
PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")


def values(unit: Path, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", unit.read_text(), flags=re.MULTILINE)


def environment(unit: Path) -> dict[str, str]:
    texts = [*values(unit, "Environment"), *re.findall(r"^([A-Z_]+=.*)$", ENVIRONMENT.read_text(), flags=re.MULTILINE)]
    pairs = [word.partition("=") for text in texts for word in text.split()]
    return {name: value for name, _, value in pairs}


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        name = unit.name.replace("@.", "@default.")
        (tmp_path / name).write_text(unit.read_text().replace("/opt/drumline/bin/drumline", sys.executable))
    command = [path_of("systemd-analyze"), "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))]

    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    ours = [line for line in told.stderr.splitlines() if "drumline" in line]
    assert (told.returncode, ours) == (0, []), told.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_role_with_settings_that_exist(unit: Path, tmp_path: Path) -> None:
    (command,) = values(unit, "ExecStart")
    words = command.split()

    assert words[0] == "/opt/drumline/bin/drumline"
    check_command([word for word in words[1:] if word != "$APPS"])
    settings_from(environment(unit), tmp_path)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_every_secret_is_handed_over_as_a_credential(unit: Path) -> None:
    handed = {f"%d/{text.partition(':')[0]}" for text in values(unit, "LoadCredential")}
    named = {value for name, value in environment(unit).items() if name.endswith("_FILE")}

    assert named
    assert named == handed


def test_a_role_has_the_time_to_leave_that_it_needs(tmp_path: Path) -> None:
    own = WorkerOptions()
    for unit in UNITS:
        settings = settings_from(environment(unit), tmp_path)
        needed = {
            "drumline-api": GRACE + 5 + settings.drain_delay.total_seconds(),
            "drumline-notifier": settings.notify.timeout.total_seconds() + 5,
            "drumline-worker@": settings.worker.grace.total_seconds()
            + own.stop_grace + 3 * LAST_SECONDS + CLOSE_SECONDS,
        }  # fmt: skip
        for seconds in values(unit, "TimeoutStopSec"):
            assert float(seconds) >= needed.get(unit.stem, 0), unit.stem


def test_the_gateway_for_machines_differs_from_that_of_the_composed_system_in_where_servers_are_alone() -> None:
    run(path_of("haproxy"), "-c", "-f", str(HOSTS / "haproxy.cfg"))

    def told(path: Path) -> list[str]:
        text = re.sub(r"\nresolvers docker\n(?: .*\n)+", "\n", path.read_text())
        lines = [line.partition(" #")[0].strip() for line in text.splitlines()]
        return [line for line in lines if line and not line.startswith(("#", "server "))]

    composed = [line for line in told(DEPLOY / "compose" / "haproxy.cfg") if not line.startswith("server-template ")]
    assert told(HOSTS / "haproxy.cfg") == composed


@pytest.mark.parametrize("path", [HOSTS / "prometheus.yml", DEPLOY / "kustomize/components/monitoring/prometheus.yml"])
def test_prometheus_asks_every_role(path: Path, tmp_path: Path) -> None:
    rules = str(DEPLOY / "prometheus" / "rules")
    text = path.read_text().replace("/etc/prometheus/rules", rules)
    (tmp_path / "prometheus.yml").write_text(text)

    run(path_of("promtool"), "check", "config", str(tmp_path / "prometheus.yml"))

    jobs = re.findall(r"job_name: drumline-(\w+)", text)
    assert jobs == re.findall(r"job_name: drumline-(\w+)", (DEPLOY / "prometheus" / "prometheus.yml").read_text())


def test_what_the_monitoring_component_copies_is_up_to_date() -> None:
    folder = DEPLOY / "kustomize" / "components" / "monitoring"
    copies = {
        "rules.yml": DEPLOY / "prometheus" / "rules" / "drumline.yml",
        "dashboards.yaml": DEPLOY / "grafana" / "provisioning" / "dashboards" / "drumline.yaml",
        "datasource.yaml": DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yaml",
    }
    copies |= {f"dashboards/{one.name}": one for one in (DEPLOY / "grafana" / "dashboards").glob("*.json")}

    for name, source in copies.items():
        assert (folder / name).read_text() == source.read_text(), f"cp {source} {folder / name}"
    assert {path.name for path in (folder / "dashboards").iterdir()} == {
        path.name for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")
    }


def test_the_table_of_settings_by_role_names_settings_that_exist() -> None:
    section = PAGE.partition("## Settings by role")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([a-z_.]+)`", row.split("|")[1])]

    assert len(rows) > 10
    assert [name for name in named if name not in LEAVES] == []
    assert {row.count("|") for row in rows} == {8}


def test_the_page_names_files_that_exist() -> None:
    for unit in re.findall(r"drumline-(?:api|scheduler|notifier|worker@|migrate)\b", PAGE):
        assert (DEPLOY / "systemd" / f"{unit}.service").exists(), unit
    assert (DEPLOY / "kustomize" / "overlays" / "minikube-full").is_dir()
