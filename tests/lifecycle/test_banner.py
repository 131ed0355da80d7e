"""What `drumline dev` says about itself can be done by the person who reads it."""

import sys
from pathlib import Path

import pytest

from drumline.lifecycle.banner import Ready, banner

READY = Ready(url="http://here", key="sk", key_file=Path("key"), store="SQLite", names=("shell",))


@pytest.mark.parametrize("folder", ["archive-v0/x7hF2k", "builds-v0/.tmpQ1", "environments-v2/drumline-5d"])
def test_who_came_by_uvx_is_told_commands_that_they_have(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", f"/home/ada/.cache/uv/{folder}")

    assert "  uvx drumline submit shell " in banner(READY)
    assert "  uvx drumline demo " in banner(READY)


def test_who_installed_it_is_told_the_command() -> None:
    assert "uvx" not in banner(READY)
