"""What the package needs, and what it says where something is missing."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from drumline import __version__
from tests.deploy.files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WITHOUT = """
import sys
sys.modules[{name!r}] = None  # as where it is not installed
sys.argv = ["drumline", *{words!r}]
from drumline.__main__ import main
main()
"""


def drumline_without(name: str, *words: str) -> "subprocess.CompletedProcess[str]":
    code = WITHOUT.format(name=name, words=words)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_the_command_is_a_module_too() -> None:
    done = subprocess.run([sys.executable, "-m", "drumline", "version"], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == __version__


@pytest.mark.parametrize(
    ("missing", "words"), [("click", ("version",)), ("uvicorn", ("dev", "--port", "0")), ("structlog", ("worker",))]
)
def test_a_missing_package_is_named_in_one_line_with_what_to_install(
    missing: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path))

    done = drumline_without(missing, *words)

    assert done.returncode == 1
    assert re.fullmatch(
        rf"Error: .* needs? (the package )?{missing}: pip install '?drumline(\[worker\])?'?\n", done.stderr
    )


def test_the_base_starts_the_embedded_mode_and_large_things_are_extras() -> None:
    names = {re.split(r"[<>=\[; ]", one)[0] for one in PROJECT["dependencies"]}
    extras = PROJECT["optional-dependencies"]

    assert {"click", "starlette", "uvicorn", "httpx", "cryptography"} <= names
    assert not names & {"typst", "uvloop", "asyncpg", "redis", "confluent-kafka", "botocore", "opentelemetry-sdk"}
    assert {
        "cli",
        "worker",
        "server",
        "pdf",
        "postgres",
        "redis",
        "kafka",
        "traces",
        "aws",
        "django",
        "keyring",
        "all",
    } == extras.keys()


def test_every_supported_python_is_said_and_tested() -> None:
    said = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    workflow = (ROOT / ".github" / "workflows" / "ci.yaml").read_text()

    assert said == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == ">=3.11"
    assert workflow.count(str(said).replace("'", '"')) == 2, "the tests, and the wheel"
