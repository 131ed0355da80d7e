"""The composed system with a second shard: what compose.shards.yaml lays over compose.yaml."""

import re
from pathlib import Path
from typing import Any

import yaml

from deploy.compose.make_secrets import make_secrets
from drumline.settings import load_settings
from tests.deploy.files import DEPLOY, ROOT, check_command, check_schema, commands_in, settings_from, vendored

PLAIN = ROOT / "compose.yaml"
LAID_OVER = ROOT / "compose.shards.yaml"
SHARD = "pg2"


def read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", path.read_text()))
    return read


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return one file laid over another, as compose does: mappings are joined, lists of volumes are added up."""
    result = dict(below)
    for name, value in above.items():
        if isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = merged(result[name], value)
        elif isinstance(value, list) and name == "volumes":
            result[name] = [*result.get(name, ()), *value]
        else:
            result[name] = value
    return result


WHOLE = merged(read(PLAIN), read(LAID_OVER))
SERVICES: dict[str, Any] = WHOLE["services"]


def mounted(service: dict[str, Any]) -> set[str]:
    return {mount.partition(":")[0] for mount in service.get("volumes", ())}


def test_compose_understands_the_file() -> None:
    check_schema(read(LAID_OVER), vendored("compose-spec"))
    check_schema(WHOLE, vendored("compose-spec"))


def test_what_is_named_exists() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("networks", ())) <= WHOLE["networks"].keys(), name
        assert service.get("depends_on", {}).keys() <= SERVICES.keys(), name
        for source in mounted(service):
            assert (ROOT / source).exists() if source.startswith("./") else source in WHOLE["volumes"], source


def test_a_shard_has_servers_like_those_of_the_directory() -> None:
    for kind in ("postgres", "redis"):
        first, second = SERVICES[kind], SERVICES[f"{kind}-{SHARD}"]
        own = {"volumes"}
        assert {key: value for key, value in first.items() if key not in own} == {
            key: value for key, value in second.items() if key not in own
        }
        assert not {each for each in mounted(first) & mounted(second) if not each.startswith("./")}


def test_only_who_adds_the_shard_is_told_its_addresses() -> None:
    told = {name for name, service in SERVICES.items() if "secrets-shards" in mounted(service)}

    assert told == {"secrets", "shards"}
    for role in ("api", "scheduler", "worker", "notifier"):
        assert SERVICES[role] == read(PLAIN)["services"][role], "processes are started as without shards"


def test_who_migrates_can_open_the_addresses_of_shards(tmp_path: Path) -> None:
    for name in ("migrate", "api", "scheduler", "worker", "notifier"):
        assert "DRUMLINE_SECRET_KEY_FILE" in SERVICES[name]["environment"], name
    settings_from(SERVICES["shards"]["environment"], tmp_path)


def test_the_step_that_adds_the_shard_is_locked_down_and_waits_for_what_it_needs() -> None:
    step = SERVICES["shards"]

    assert (step["read_only"], step["cap_drop"]) == (True, ["ALL"])
    assert step["depends_on"] == {
        name: {"condition": "service_healthy"} for name in ("api", f"postgres-{SHARD}", f"redis-{SHARD}")
    }
    assert step["command"] == [SHARD, f"/run/shards/{SHARD}"]


def test_every_command_of_the_step_exists() -> None:
    commands = commands_in((DEPLOY / "compose" / "add_shard.sh").read_text())

    assert [words[:2] for words in commands] == [["shards", "get"], ["shards", "add"], ["shards", "move"]]
    for words in commands:
        check_command(words)


def test_secrets_of_a_shard_are_made_once_and_fit_together(tmp_path: Path) -> None:
    for mount in SERVICES["secrets"]["volumes"]:
        target = mount.split(":")[1]
        if target.startswith("/secrets/"):
            (tmp_path / target.removeprefix("/secrets/")).mkdir()

    made = make_secrets(tmp_path)
    store_url, queue_url = (tmp_path / "shards" / SHARD).read_text().split()

    assert {f"shards/{SHARD}", f"postgres-{SHARD}/password", f"redis-{SHARD}/redis.conf"} <= set(made)
    assert make_secrets(tmp_path) == []
    password = (tmp_path / f"postgres-{SHARD}" / "password").read_text().strip()
    assert f":{password}@postgres-{SHARD}:" in store_url
    assert (tmp_path / f"redis-{SHARD}" / "redis.conf").read_text().split()[1] in queue_url
    assert store_url != (tmp_path / "drumline" / "store-url").read_text().strip()
    load_settings({"DRUMLINE_STORE_URL": store_url, "DRUMLINE_QUEUE_URL": queue_url})
