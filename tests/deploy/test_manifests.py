"""What the chart and the overlays give to Kubernetes."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from kubernetes_validate.utils import all_versions  # type: ignore[import-untyped]  # has none

from drumline.api.server import GRACE
from drumline.settings import load_settings
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import CLOSE_SECONDS, LAST_SECONDS
from scripts.generate_kustomize import BASE, make_base
from tests.deploy.files import (
    CHART,
    DEPLOY,
    OVERLAYS,
    PROMISED,
    Document,
    charted,
    check_command,
    check_manifest,
    commands_in,
    containers,
    kustomized,
    pods,
    run,
    settings_from,
    variables,
)
from tests.harness.programs import path_of

PATH, ALONE = "parameterPath=/drumline/production/", "config=null"
VALUES = sorted((CHART / "ci").glob("*.yaml"))
FOLDERS = [BASE, *sorted(OVERLAYS.iterdir())]
ALL = [*VALUES, *FOLDERS]
OURS = re.compile(r"drumline|shop|jobs")
COMPONENT = "app.kubernetes.io/component"


def given(source: Path) -> tuple[Document, ...]:
    return kustomized(source) if source.is_dir() else charted(source)


def named(path: object) -> str:
    return Path(str(path)).name


def our_containers(documents: Sequence[Document]) -> list[tuple[str, Document, Document]]:
    """Return name, pod and container of everything that runs our image."""
    return [
        (name, pod, container)
        for name, pod in pods(documents)
        for container in containers(pod)
        if OURS.search(container["image"])
    ]


def config_of(documents: Sequence[Document]) -> str:
    maps = [document["data"] for document in documents if document["kind"] == "ConfigMap"]
    return next((str(data["drumline.yaml"]) for data in maps if "drumline.yaml" in data), "")


@pytest.mark.parametrize("values", VALUES, ids=named)
def test_the_chart_is_clean(values: Path) -> None:
    run(path_of("helm"), "lint", "--strict", str(CHART), "--values", str(values))


@pytest.mark.parametrize("version", ["oldest", "newest"])
@pytest.mark.parametrize("source", ALL, ids=named)
def test_kubernetes_takes_every_manifest(source: Path, version: str) -> None:
    number = all_versions()[0 if version == "oldest" else -1]

    for document in given(source):
        check_manifest(document, number)


@pytest.mark.parametrize("source", ALL, ids=named)
def test_every_variable_and_setting_exists(source: Path, tmp_path: Path) -> None:
    documents = given(source)
    found = our_containers(documents)

    assert found
    for _, _, container in found:
        settings_from(variables(container), tmp_path, config=config_of(documents))


@pytest.mark.parametrize("source", ALL, ids=named)
def test_every_command_exists(source: Path) -> None:
    for _, _, container in our_containers(given(source)):
        if "command" not in container:
            check_command(container["args"])


@pytest.mark.parametrize("source", ALL, ids=named)
def test_pods_may_do_as_little_as_possible(source: Path) -> None:
    for name, pod in pods(given(source)):
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert pod["automountServiceAccountToken"] is False, name
        for container in containers(pod):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name
            assert "memory" in container["resources"]["limits"], name
    for name, _, container in our_containers(given(source)):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, name


@pytest.mark.parametrize("source", ALL, ids=named)
def test_no_secret_stands_in_an_environment(source: Path) -> None:
    secret = re.compile(r"(PASSWORD|API_KEY|STORE_URL|QUEUE_URL)$")

    for name, _, container in our_containers(given(source)):
        assert not [variable for variable in variables(container) if secret.search(variable)], name
        assert not [one for one in container.get("env", ()) if "valueFrom" in one], name


@pytest.mark.parametrize("source", ALL, ids=named)
def test_every_secret_file_that_is_named_is_mounted(source: Path) -> None:
    for name, pod, container in our_containers(given(source)):
        mounted = {
            f"/run/drumline/{item['path']}"
            for volume in pod.get("volumes", ())
            for part in volume.get("projected", {}).get("sources", ())
            for item in part["secret"]["items"]
            if any(mount["name"] == volume["name"] for mount in container["volumeMounts"])
        }
        wanted = {value for variable, value in variables(container).items() if variable.endswith("_FILE")}
        assert wanted <= mounted, name


@pytest.mark.parametrize("source", ALL, ids=named)
def test_a_pod_outlives_what_its_role_needs_to_leave(source: Path, tmp_path: Path) -> None:
    documents = given(source)
    own = WorkerOptions()
    leaving = own.stop_grace + 3 * LAST_SECONDS + CLOSE_SECONDS

    for name, pod, container in our_containers(documents):
        settings = settings_from(variables(container), tmp_path, config=config_of(documents))
        patience = pod.get("terminationGracePeriodSeconds", 30)
        needed = {
            "worker": settings.worker.grace.total_seconds() + leaving,
            "notifier": settings.notify.timeout.total_seconds() + 5,
            "api": GRACE + 5 + float(_pre_stop(container)),
        }
        assert patience >= needed.get(container["name"], 0), name


def _pre_stop(container: Document) -> str:
    command = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])
    return str(command[-1])


@pytest.mark.parametrize("source", ALL, ids=named)
def test_ports_and_selectors_meet(source: Path) -> None:
    documents = given(source)
    templates = {
        document["metadata"]["name"]: document["spec"]["template"]
        for document in documents
        if document["kind"] in {"Deployment", "StatefulSet"}
    }

    for document in documents:
        if document["kind"] == "Service":
            chosen = _chosen(templates, document["spec"]["selector"])
            assert chosen, document["metadata"]["name"]
            ports = {port["name"] for pod in chosen for one in pod["containers"] for port in one.get("ports", ())}
            assert {port["targetPort"] for port in document["spec"]["ports"]} <= ports
        elif document["kind"] == "PodDisruptionBudget":
            assert len(_chosen(templates, document["spec"]["selector"]["matchLabels"])) == 1
        elif document["kind"] in {"HorizontalPodAutoscaler", "ScaledObject"}:
            assert document["spec"]["scaleTargetRef"]["name"] in templates
    (api,) = (one for _, _, one in our_containers(documents) if one["name"] == "api")
    told = variables(api)
    assert [str(port["containerPort"]) for port in api["ports"]] == [
        told["DRUMLINE_PORT"],
        told["DRUMLINE_MONITOR_PORT"],
    ]
    assert told["DRUMLINE_PORT"] == str(PROMISED.port)


@pytest.mark.parametrize("source", ALL, ids=named)
def test_every_role_shows_how_it_is_at_the_port_where_it_is_asked(source: Path) -> None:
    documents = given(source)
    roles = {"api", "scheduler", "worker", "notifier"}

    for name, _, container in our_containers(documents):
        if container["name"] not in roles or not container.get("ports"):
            assert container["name"] not in roles, name
            continue
        ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
        assert ports["monitor"] == variables(container)["DRUMLINE_MONITOR_PORT"]
        for probe, path in (("startupProbe", "/livez"), ("readinessProbe", "/readyz"), ("livenessProbe", "/livez")):
            assert container[probe]["httpGet"]["path"] == path
            assert container[probe]["httpGet"]["port"] in ports


def test_alerts_and_dashboards_come_with_the_chart() -> None:
    documents = charted(CHART / "ci" / "production-values.yaml")
    (rules,) = (document for document in documents if document["kind"] == "PrometheusRule")
    boards = [
        name
        for document in documents
        if document["kind"] == "ConfigMap" and document["metadata"]["labels"].get("grafana_dashboard") == "1"
        for name in document["data"]
    ]

    assert rules["spec"] == yaml.safe_load((DEPLOY / "prometheus" / "rules" / "drumline.yml").read_text())
    assert sorted(boards) == sorted(path.name for path in (DEPLOY / "grafana" / "dashboards").glob("*.json"))


def _chosen(templates: dict[str, Document], selector: dict[str, str]) -> list[Document]:
    return [one["spec"] for one in templates.values() if selector.items() <= one["metadata"]["labels"].items()]


@pytest.mark.parametrize("source", ALL, ids=named)
def test_what_an_autoscaler_counts_has_no_fixed_number(source: Path) -> None:
    documents = given(source)
    scaled = {
        document["spec"]["scaleTargetRef"]["name"]
        for document in documents
        if document["kind"] in {"HorizontalPodAutoscaler", "ScaledObject"}
    }

    for document in documents:
        if document["kind"] == "Deployment":
            assert ("replicas" not in document["spec"]) == (document["metadata"]["name"] in scaled)


def test_workers_over_http_see_no_address_of_the_store() -> None:
    documents = charted(CHART / "ci" / "remote-workers-values.yaml")
    (remote,) = (one for name, _, one in our_containers(documents) if name == "jobs-worker-default")

    assert variables(remote)["DRUMLINE_URL"] == "http://jobs-api.apps.svc:8080"
    assert "DRUMLINE_STORE_URL_FILE" not in variables(remote)


def test_only_schedulers_see_kafka_and_only_servers_the_first_key() -> None:
    documents = charted(CHART / "ci" / "production-values.yaml")
    seen = {name: variables(container).keys() for name, _, container in our_containers(documents)}

    assert {name for name, names in seen.items() if "DRUMLINE_BUS_URL_FILE" in names} == {"here-drumline-scheduler"}
    assert {name for name, names in seen.items() if "DRUMLINE_API_KEY_FILE" in names} == {"here-drumline-api"}


def test_only_the_job_that_adds_shards_sees_their_addresses() -> None:
    documents = charted(CHART / "ci" / "shards-values.yaml")
    seen = {
        name: {item["key"] for volume in pod["volumes"] for item in _items(volume)}
        for name, pod in pods(documents)
        if "volumes" in pod
    }

    shards = {"pg2-store-url", "pg2-queue-url", "pg3-store-url"}
    assert seen.pop("here-drumline-shards") == {"api-key", *shards}
    assert all(not keys & shards for keys in seen.values())
    assert all({"store-url", "secret-key"} <= keys for keys in seen.values()), "the addresses are sealed with it"


def _items(volume: Document) -> list[Document]:
    """Return what a volume has of secrets."""
    return [item for part in volume.get("projected", {}).get("sources", ()) for item in part["secret"]["items"]]


def test_shards_are_added_after_the_api_has_started_each_by_its_name() -> None:
    documents = charted(CHART / "ci" / "shards-values.yaml")
    (job,) = (one for one in documents if one["metadata"]["name"] == "here-drumline-shards" and one["kind"] == "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade"
    assert re.findall(r"shards add (.*)", container["args"][0]) == [
        "pg2 --store-url - --queue-url -",
        "pg3 --store-url -",
    ]
    for words in commands_in(container["args"][0]):
        check_command(words)
    assert variables(container)["DRUMLINE_URL"] == "http://here-drumline-api.apps.svc"
    assert [one for one in charted(None) if one["metadata"]["labels"].get(COMPONENT) == "shards"] == []


def test_the_job_that_adds_shards_reaches_the_api() -> None:
    documents = charted(CHART / "ci" / "shards-values.yaml")
    policies = {one["metadata"]["name"]: one for one in documents if one["kind"] == "NetworkPolicy"}
    policy = policies["here-drumline-shards"]

    assert policy["spec"]["podSelector"]["matchLabels"][COMPONENT] == "shards"
    assert policy["spec"]["egress"][0]["to"][0]["podSelector"]["matchLabels"][COMPONENT] == "api"


def test_the_schema_is_migrated_before_anything_else_starts() -> None:
    (job,) = (one for one in charted(None) if one["kind"] == "Job")
    (api,) = (
        one for one in kustomized(BASE) if one["metadata"]["name"] == "drumline-api" and one["kind"] == "Deployment"
    )

    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert "serviceAccountName" not in job["spec"]["template"]["spec"]
    assert [one["args"] for one in api["spec"]["template"]["spec"]["initContainers"]] == [["migrate"]]


@pytest.mark.parametrize(
    "setting",
    [
        "worker.pools.default.concurency=3",
        "worker.pools.default.graceSeconds=-1",
        "migrate.mode=perhaps",
        "secret.existingSecret=",
        "config.store_url=postgresql://u:p@db/x",
        "image.digest=sha256:abc",
        "worker.pools.default.autoscaling.type=keda",
        "worker.pools.default.via=api",
        "parameterPath=drumline",
        "shards.pg2.storeUrl=pg2-store-url",  # without a key to seal it with
        "secret.keys.secretKey=k,shards.main.storeUrl=main-store-url",
        "secret.keys.secretKey=k,shards.PG2.storeUrl=pg2-store-url",
        "secret.keys.secretKey=k,shards.pg2.queueUrl=pg2-queue-url",
    ],
)
def test_values_that_cannot_be_are_refused(setting: str) -> None:
    with pytest.raises(AssertionError):
        charted(None, setting)


def test_settings_come_from_the_file_and_the_parameters_over_it() -> None:
    both = {name: variables(one).get("DRUMLINE_CONFIG") for name, _, one in our_containers(charted(None, PATH))}
    alone = {name: variables(one).get("DRUMLINE_CONFIG") for name, _, one in our_containers(charted(None, PATH, ALONE))}

    assert both.pop("here-drumline-migrate") is None  # it needs nothing but the address of the store
    told = {name.removeprefix("here-drumline-"): value for name, value in both.items() if value}
    assert set(told) == {"api", "scheduler", "notifier", "worker-default"}
    assert set(told.values()) == {"/etc/drumline/drumline.yaml,ssm:/drumline/production/"}
    assert {value for value in alone.values() if value} == {"ssm:/drumline/production/"}


def test_the_base_is_what_the_chart_gives() -> None:
    for name, text in make_base(path_of("helm")).items():
        assert (BASE / name).read_text() == text, f"{name}: run python -m scripts.generate_kustomize"


def test_the_first_key_of_the_small_overlay_is_one_that_servers_take() -> None:
    secret = yaml.safe_load(run(str(OVERLAYS / "minikube" / "make-secret")))["stringData"]
    settings = load_settings(
        {
            "DRUMLINE_API_KEY": secret["api-key"],
            "DRUMLINE_STORE_URL": secret["store-url"],
            "DRUMLINE_QUEUE_URL": secret["queue-url"],
        }
    )

    assert settings.sqlite_path is None
    assert len(secret["api-key"]) > 40
    assert not secret["api-key"].startswith("sk_")  # those have a checksum


def test_kafka_can_be_added_to_an_overlay(tmp_path: Path) -> None:
    folder = tmp_path / "overlay"
    folder.mkdir()
    kustomization = {
        "resources": [_relative(OVERLAYS / "minikube", folder)],
        "components": [_relative(OVERLAYS.parent / "components" / "kafka", folder)],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    documents = kustomized(folder)

    (scheduler,) = (one for name, _, one in our_containers(documents) if name == "drumline-scheduler")
    assert variables(scheduler)["DRUMLINE_BUS_URL"] == "kafka://kafka:9092"
    for document in documents:
        check_manifest(document, all_versions()[-1])


def _relative(path: Path, start: Path) -> str:
    return str(Path(*[".."] * (len(start.resolve().parts) - 1)) / path.relative_to("/"))
