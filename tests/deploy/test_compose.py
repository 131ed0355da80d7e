"""The composed system."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.compose.make_secrets import make_secrets
from drumline.api.server import GRACE
from drumline.core.api_key import is_mistyped
from drumline.settings import load_settings
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import CLOSE_SECONDS, LAST_SECONDS
from tests.deploy.files import DEPLOY, PROMISED, ROOT, check_command, check_schema, settings_from, vendored

FILE = ROOT / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", FILE.read_text()))
"""As it is where no variable is set."""
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"].startswith("drumline:") and name != "secrets"}


def seconds(text: str) -> float:
    assert re.fullmatch(r"\d+s", text)
    return float(text[:-1])


def test_compose_understands_the_file() -> None:
    check_schema(COMPOSE, vendored("compose-spec"))


def test_all_roles_and_what_they_stand_on_are_there() -> None:
    replicas = {name: one.get("deploy", {}).get("replicas", 1) for name, one in SERVICES.items()}

    assert replicas["api"] == replicas["scheduler"] == 2
    assert {
        "worker",
        "notifier",
        "migrate",
        "gateway",
        "postgres",
        "redis",
        "kafka",
        "mail",
        "prometheus",
        "grafana",
    } <= (replicas.keys())


@pytest.mark.parametrize("name", OURS)
def test_every_command_and_variable_exists(name: str, tmp_path: Path) -> None:
    check_command(OURS[name]["command"])
    settings_from(OURS[name]["environment"], tmp_path)


@pytest.mark.parametrize("name", OURS)
def test_our_containers_are_locked_down(name: str) -> None:
    service = OURS[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in service
    assert not [
        variable for variable in service["environment"] if re.search(r"(PASSWORD|API_KEY|STORE_URL)$", variable)
    ]


def test_a_container_outlives_what_its_role_needs_to_leave(tmp_path: Path) -> None:
    worker = settings_from(OURS["worker"]["environment"], tmp_path).worker.grace.total_seconds()
    notifier = settings_from(OURS["notifier"]["environment"], tmp_path).notify.timeout.total_seconds()

    leaving = WorkerOptions().stop_grace + 3 * LAST_SECONDS + CLOSE_SECONDS
    assert seconds(SERVICES["worker"]["stop_grace_period"]) >= worker + leaving
    assert seconds(SERVICES["notifier"]["stop_grace_period"]) >= notifier + 5
    assert seconds(SERVICES["api"]["stop_grace_period"]) >= GRACE + 5


def test_whoever_is_waited_for_can_be() -> None:
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in SERVICES, name
            if how["condition"] == "service_healthy":
                # Ours have the image's.
                assert "healthcheck" in SERVICES[other] or other in OURS, f"{name} waits for {other}"
                assert SERVICES[other].get("healthcheck", {}).get("disable") is not True


def test_networks_volumes_and_files_that_are_named_exist() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("networks", ())) <= COMPOSE["networks"].keys(), name
        for mount in service.get("volumes", ()):
            source = mount.partition(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).exists(), f"{name}: {source}"
            else:
                assert source in COMPOSE["volumes"], f"{name}: {source}"


def test_addresses_agree(tmp_path: Path) -> None:
    prometheus = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    (target,) = re.findall(r"server-template \S+ \d+ (\S+)", (DEPLOY / "compose" / "haproxy.cfg").read_text())
    told = settings_from(OURS["api"]["environment"], tmp_path)

    assert target == f"api:{PROMISED.port}"
    scraped = {job["job_name"]: job for job in prometheus["scrape_configs"]}
    for role in ("api", "scheduler", "worker", "notifier"):
        (found,) = scraped[f"drumline-{role}"]["dns_sd_configs"]
        shown = settings_from(OURS[role]["environment"], tmp_path).monitor
        assert (found["names"], found["port"], shown.host) == ([role], shown.port, "0.0.0.0")
    assert told.url == f"http://127.0.0.1:{PROMISED.port}"
    assert "api" in SERVICES["gateway"]["depends_on"]


def test_images_have_a_version() -> None:
    for name, service in SERVICES.items():
        tag = service["image"].rpartition(":")[2]
        assert re.match(r"v?\d|dev$", tag), f"{name}: {service['image']}"


def test_secrets_are_made_once_and_fit_together(tmp_path: Path) -> None:
    for folder in ("drumline", "postgres", "redis", "grafana"):
        (tmp_path / folder).mkdir()

    made = make_secrets(tmp_path)
    first = {name: (tmp_path / name).read_text() for name in made}
    (tmp_path / "drumline" / "store-url").unlink()  # as if the first start had been cut short

    assert make_secrets(tmp_path) == ["drumline/store-url"]
    assert {name: (tmp_path / name).read_text() for name in made} == first
    assert f":{first['postgres/password'].strip()}@postgres:" in first["drumline/store-url"]
    assert first["redis/redis.conf"].split()[1] in first["drumline/queue-url"]
    assert not is_mistyped(first["drumline/api-key"].strip().encode())
    load_settings(
        {
            f"DRUMLINE_{name.upper().replace('-', '_')}_FILE": str(tmp_path / "drumline" / name)
            for name in ("api-key", "secret-key", "store-url", "queue-url")
        }
    )
