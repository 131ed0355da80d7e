"""Worker code that threads share does what it promises in every order of them."""

import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest

NAMES = (
    "progress of two attempts",
    "progress while the loop is closed",
    "two threads write a log that the loop takes",
    "a log while the loop is closed",
    "two workers route output",
)


@pytest.fixture(scope="module")
def explored() -> dict[str, Any]:
    if importlib.util.find_spec("frontrun") is None:
        pytest.skip("frontrun is not installed: there are no wheels of it for this machine")
    command = [sys.executable, "-m", "tests.interleavings.orders"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_promise_holds_in_every_order_of_the_threads(explored: dict[str, Any], name: str) -> None:
    assert explored[name]["holds"], explored[name]["why"]
    assert explored[name]["orders"] >= 1


def test_every_scenario_is_named(explored: dict[str, Any]) -> None:
    assert tuple(explored) == NAMES
