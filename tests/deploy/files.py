"""Reading what deploys Drumline, and the tools that judge it."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # has none
import yaml

from drumline.cli.main import command as program
from drumline.cli.parameters import Group
from drumline.settings import Settings, load_settings
from tests.harness.programs import path_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "drumline"
OVERLAYS = DEPLOY / "kustomize" / "overlays"
PROMISED = Settings()

SECRETS = {
    "DRUMLINE_STORE_URL_FILE": "postgresql://drumline@db/drumline",
    "DRUMLINE_QUEUE_URL_FILE": "redis://queue",
    "DRUMLINE_BUS_URL_FILE": "kafka://bus:9092",
}
"""What a file may hold, where its form matters."""

Document = dict[str, Any]


def load_all(text: str) -> list[Document]:
    """Return the documents of a YAML text, without empty ones."""
    return [document for document in yaml.safe_load_all(text) if document]


def run(*words: str) -> str:
    """Return what a program says, or fail with its complaint."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def charted(values: Path | None, *settings: str) -> tuple[Document, ...]:
    """Return what the chart gives for some values."""
    words = [path_of("helm"), "template", "here", str(CHART), "--namespace", "apps"]
    if values is not None:
        words += ["--values", str(values)]
    for setting in settings:
        words += ["--set", setting]
    return tuple(load_all(run(*words)))


@cache
def kustomized(folder: Path) -> tuple[Document, ...]:
    """Return what a kustomization gives."""
    return tuple(load_all(run(path_of("kubectl"), "kustomize", str(folder))))


def check_manifest(document: Document, version: str) -> None:
    """Hold a manifest against the schema of a Kubernetes version, or of the operator whose kind it is."""
    group = document["apiVersion"].partition("/")[0]
    if group in OPERATORS:
        check_schema(document, OPERATORS[group])
    else:
        kubernetes_validate.validate(document, version, strict=True)


def check_schema(document: object, schema: Path) -> None:
    """Hold a document against a JSON schema."""
    import jsonschema_rs  # noqa: PLC0415 - comes with the fuzzer of the API

    jsonschema_rs.validator_for(json.loads(schema.read_text())).validate(document)


def vendored(name: str) -> Path:
    """Return a schema of a format that is not ours: `compose-spec` or `github-workflows`."""
    return Path(str(files("check_jsonschema").joinpath("builtin_schemas", "vendor", f"{name}.json")))


OPERATORS = {
    "keda.sh": Path(__file__).parent / "schemas" / "keda.json",
    "monitoring.coreos.com": Path(__file__).parent / "schemas" / "monitoring.json",
}


def pods(documents: Sequence[Document]) -> Iterator[tuple[str, Document]]:
    """Yield the name and the pod of everything that runs Drumline."""
    for document in documents:
        if document["kind"] in {"Deployment", "StatefulSet", "Job"}:
            pod = document["spec"]["template"]["spec"]
        elif document["kind"] == "Pod":
            pod = document["spec"]
        else:
            continue
        yield document["metadata"]["name"], pod


def containers(pod: Document) -> list[Document]:
    """Return all containers of a pod."""
    return [*pod.get("initContainers", ()), *pod["containers"]]


def variables(container: Document) -> dict[str, str]:
    """Return the environment of a container."""
    return {variable["name"]: variable.get("value", "") for variable in container.get("env", ())}


def settings_from(environment: Mapping[str, str], folder: Path, *, config: str = "") -> Settings:
    """Return what a process in this environment is told; a mistyped variable or value is refused as it would be."""
    ours = {name: value for name, value in environment.items() if name.startswith("DRUMLINE_")}
    for number, name in enumerate(sorted(ours)):
        if name.endswith("_FILE"):
            file = folder / f"secret-{number}"
            file.write_text(SECRETS.get(name, "something secret"))
            ours[name] = str(file)
    if "DRUMLINE_CONFIG" in ours:
        file = folder / "drumline.yaml"
        file.write_text(config)
        ours["DRUMLINE_CONFIG"] = str(file)
    return load_settings(ours)


def check_command(words: Sequence[str]) -> None:
    """Fail if the command line would not understand some words."""
    command: Any = program()
    rest = list(words)
    while isinstance(command, Group):
        assert rest[0] in command.all, f"there is no command {rest[0]}"
        command = command.all[rest.pop(0)]
    command.make_context(words[0], rest)


def commands_in(script: str) -> list[list[str]]:
    """Return the commands of ours in a shell script, without where they read from and write to."""
    found = re.findall(r"\bdrumline ([a-z][^|<>&;{\n]*)", re.sub(r"^\s*#.*$", "", script, flags=re.MULTILINE))
    return [shlex.split(words) for words in found]
