"""Every outside program is declared once; the installer and the tests read the same table."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import programs
from scripts.fetch_programs import FETCHERS
from scripts.programs import ROOT, components, declared, find_program, missing, system
from tests.harness.declared import Undeclared, is_declared

STARTERS = {
    "subprocess.run", "subprocess.Popen", "asyncio.create_subprocess_exec", "path_of", "find_program", "shutil.which",
}  # fmt: skip
UNKNOWN = "lsblk-of-somebody"


@pytest.fixture
def undeclared(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A program that is on PATH, outside everything that is ours, and not in the table."""
    folder = Path("/var/tmp" if os.access("/var/tmp", os.W_OK) else Path.home()) / f"drumline-{os.getpid()}"
    folder.mkdir()
    program = folder / UNKNOWN
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.getbasetemp()))
    yield UNKNOWN
    program.unlink()
    folder.rmdir()


def test_a_program_that_is_not_in_the_table_cannot_be_started(undeclared: str) -> None:
    with pytest.raises(Undeclared, match=r"lsblk-of-somebody is not in scripts/programs\.toml"):
        subprocess.run([undeclared], check=False)

    from tests.harness.declared import _undeclared  # noqa: PLC0415 - only this test has a reason to forget it

    _undeclared.clear()


def test_a_program_beside_the_system_s_own_python_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/usr")

    assert not is_declared("/usr/bin/apt-get" if Path("/usr/bin/apt-get").exists() else "/usr/bin/perl")
    assert is_declared(sys.executable)


def test_what_tests_start_by_name_is_in_the_table() -> None:
    started = {word for path in sorted((ROOT / "tests").rglob("*.py")) for word in first_words(path)}

    assert {word for word in started if declared(word) is None} == set()
    assert {"git", "promtool", "pgbouncer", "openssl"} <= started


def first_words(path: Path) -> Iterator[str]:
    """Yield the programs that a file starts, where they stand there as they are."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in STARTERS:
            first = node.args[0]
            if isinstance(first, ast.List) and first.elts:
                first = first.elts[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and is_word(first.value):
                yield first.value


def is_word(text: str) -> bool:
    return re.fullmatch(r"[a-z][a-z0-9_-]*", text) is not None and find_anywhere(text)


def find_anywhere(name: str) -> bool:
    """Tell whether a word is the name of a program at all, and not some other argument."""
    return declared(name) is not None or not is_declared(name)


def test_the_harness_refuses_to_look_for_what_is_not_declared() -> None:
    with pytest.raises(LookupError, match=r"nginx is not in scripts/programs\.toml"):
        find_program("nginx")


def test_every_entry_says_where_it_comes_from_and_what_needs_it() -> None:
    entries = components()

    assert [name for name, entry in entries.items() if not (entry.packages or entry.fetch)] == ["docker"]
    assert [name for name, entry in entries.items() if entry.fetch and entry.fetch not in FETCHERS] == []
    assert [name for name, entry in entries.items() if not set(entry.needs) <= entries.keys()] == []
    assert {entry.purpose for entry in entries.values()} <= {"test", "ui", "bare", "fetch"}
    assert [name for name, entry in entries.items() if not entry.tests and entry.purpose != "bare"] == []
    assert [path for entry in entries.values() for path in entry.tests if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("here", "line"),
    [
        ("debian", "pgbouncer is missing: apt-get install pgbouncer"),
        ("fedora", "pgbouncer is missing: dnf install pgbouncer"),
        ("macos", "pgbouncer is missing: brew install pgbouncer"),
        ("", "pgbouncer is missing: install pgbouncer with your package manager"),
    ],
)
def test_what_is_missing_is_said_in_one_line_with_its_package(
    here: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_find", lambda _name, _look_in: None)

    assert missing("pgbouncer", here) == line


def test_what_is_fetched_is_fetched_after_what_fetches_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "_find", lambda _name, _look_in: None)
    monkeypatch.setattr(programs, "CACHE", tmp_path)

    packages = "apt-get install default-jre-headless openssl maven"
    assert missing("kafka", "debian") == f"kafka is missing: {packages} && python3 -m scripts.install_programs kafka"
    assert missing("helm", "fedora") == "helm is missing: python3 -m scripts.install_programs helm"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('ID=debian\nNAME="Debian GNU/Linux"\n', "debian"),
        ("ID=ubuntu\nID_LIKE=debian\n", "debian"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "fedora"),
        ("ID=fedora\n", "fedora"),
        ("ID=arch\n", ""),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="reads a file that Linux has")
def test_a_system_is_known_by_its_kin(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text(text)

    assert system(tmp_path / "os-release") == expected


def test_an_installer_that_may_not_install_says_what_to_install_and_fails_nothing(tmp_path: Path) -> None:
    """On a PATH with nothing in it there is no apt-get either."""
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "scripts.install_programs", "--packages", "git"]

    done = subprocess.run(command, cwd=ROOT, env=bare, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(r"\[drumline\] git is missing: .*\bgit\b.*\n", done.stderr)
