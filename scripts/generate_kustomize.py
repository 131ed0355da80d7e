"""Make the kustomize base from the chart, so that there is one description of the system: one file per part.

With `--check` nothing is written; the status is 1 if a file would change.
"""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

from scripts.programs import find_program, missing

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "helm" / "drumline"
BASE = ROOT / "deploy" / "kustomize" / "base"
HEADER = "# Made by `python -m scripts.generate_kustomize` from deploy/helm/drumline: change it there.\n"
HELM_ONLY = ("helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance")


def make_base(helm: str) -> dict[str, str]:
    """Return the text of every file of the base."""
    command = [helm, "template", "drumline", str(CHART), "--values", str(BASE / "values.yaml"), "--skip-tests"]
    rendered = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own chart
    parts: dict[str, list[Any]] = defaultdict(list)
    for document in yaml.safe_load_all(rendered):
        if document is not None:
            parts[_part_of(document)].append(_plain(document))
    files = {f"{name}.yaml": HEADER + _dump_all(documents) for name, documents in sorted(parts.items())}
    resources = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(files)}
    return files | {"kustomization.yaml": HEADER + _dump_all([resources])}


def _part_of(document: dict[str, Any]) -> str:
    if document["kind"] == "NetworkPolicy":
        return "network"
    return str(document["metadata"]["labels"].get("app.kubernetes.io/component", "shared"))


def _plain(value: Any) -> Any:
    """Return a document without what only Helm needs, and without a namespace, which overlays choose."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _plain(one) for name, one in value.items() if name not in HELM_ONLY and not _is_place(name, one)}


def _is_place(name: str, value: object) -> bool:
    return name == "namespace" and value == "default"


def _dump_all(documents: list[Any]) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False, width=1000, allow_unicode=True)


def main() -> int:
    """Write the files, or list those that are out of date."""
    helm = find_program("helm")
    if helm is None:
        print(missing("helm"), file=sys.stderr)
        return 2
    files = make_base(helm)
    changed = [name for name, text in files.items() if not (BASE / name).exists() or (BASE / name).read_text() != text]
    left_over = {path.name for path in BASE.glob("*.yaml")} - files.keys() - {"values.yaml"}
    if "--check" in sys.argv[1:]:
        for name in sorted({*changed, *left_over}):
            print(f"deploy/kustomize/base/{name} is not what the chart gives", file=sys.stderr)
        return 1 if changed or left_over else 0
    for name in changed:
        (BASE / name).write_text(files[name])
    for name in left_over:
        (BASE / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
