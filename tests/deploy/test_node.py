"""The web interface is built with the machine's Node.js only if that is new enough."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.deploy.files import ROOT, run
from tests.harness.programs import path_of

CHECK = ROOT / "ui" / "node-version.mjs"
PRETEND = """
Object.defineProperty(process, "versions", {{ value: {{ node: "{version}" }} }});
await import("{module}");
"""


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("18.20.8", False), ("20.18.3", False), ("20.19.0", True), ("20.20.1", True), ("21.7.3", False),
        ("22.12.0", False), ("22.13.0", True), ("23.11.0", False), ("24.0.0", True), ("26.1.0", True),
    ],
)  # fmt: skip
def test_a_node_that_a_tool_of_the_build_refuses_is_too_old(version: str, *, fits: bool) -> None:
    script = PRETEND.format(version=version, module=CHECK.as_uri())

    done = subprocess.run([path_of("node"), "--input-type=module", "--eval", script], check=False, timeout=60)

    assert (done.returncode == 0) is fits


def test_what_is_asked_for_satisfies_every_tool_of_the_build() -> None:
    lock = json.loads((ROOT / "ui" / "package-lock.json").read_text())["packages"]
    ranges = {
        name: package["engines"]["node"] for name, package in lock.items() if "node" in package.get("engines", {})
    }

    tools = {name: ranges[f"node_modules/{name}"] for name in ("vite", "rolldown", "jsdom", "vitest")}

    assert ranges[""] == json.loads((ROOT / "ui" / "package.json").read_text())["engines"]["node"]
    assert ranges[""] == tools["jsdom"], "the narrowest of them"
    assert set(tools.values()) == {ranges[""], "^20.19.0 || >=22.12.0", "^20.0.0 || ^22.0.0 || >=24.0.0"}


def test_a_command_finds_a_node_that_is_new_enough() -> None:
    found = run(str(ROOT / "scripts" / "with-node"), "sh", "-c", "command -v node && npm --version")

    assert Path(found.splitlines()[0]).name == "node"
    assert int(found.splitlines()[1].partition(".")[0]) >= 10
