"""The image: what its file says, and its health check on real processes."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from deploy.image.sbom import bill
from tests.black_box.server import Server, eventually
from tests.deploy.files import DEPLOY, PROMISED, ROOT, settings_from

TEXT = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
STAGES = re.split(r"^(?=FROM )", TEXT, flags=re.MULTILINE)[1:]
LAST = STAGES[-1]
HEALTH = DEPLOY / "image" / "health.py"


def pinned(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), flags=re.MULTILINE))


def test_it_runs_as_nobody_and_has_a_health_check() -> None:
    assert re.search(r"^USER 10001:10001$", LAST, flags=re.MULTILINE)
    assert re.search(r'^HEALTHCHECK .*CMD \["drumline-health"\]$', LAST, flags=re.MULTILINE)
    assert re.search(r'^ENTRYPOINT \["drumline"\]$', LAST, flags=re.MULTILINE)
    assert "io.drumline.sbom" in LAST


def test_what_is_set_in_it_exists(tmp_path: Path) -> None:
    told = settings_from(dict(re.findall(r"(DRUMLINE_\w+)=(\S+)", LAST)), tmp_path)

    assert told.host == "0.0.0.0"
    assert re.search(rf"^EXPOSE {told.port} 9464$", LAST, flags=re.MULTILINE)
    assert told.port == PROMISED.port


def test_what_is_copied_exists_and_is_not_left_out() -> None:
    kept = [
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    ]

    for words in re.findall(r"^COPY (?!--from)(.+)$", TEXT, flags=re.MULTILINE):
        for source in words.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert any(fnmatch(source, one) or source.startswith(f"{one}/") for one in kept), (
                f".dockerignore leaves out {source}"
            )


def test_what_builds_it_does_not_get_into_it() -> None:
    image, build, everything = pinned("image.txt"), pinned("build.txt"), pinned("run.txt")

    assert not {"hatchling", "editables", "pip", "setuptools"} & image.keys()
    assert "hatchling" in build
    assert image.items() <= everything.items()
    assert {"asyncpg", "redis", "confluent-kafka", "uvicorn", "typst"} <= image.keys()
    assert not re.search(r"^RUN .*pip[^&]* install", LAST, flags=re.MULTILINE)


def test_everything_that_is_installed_is_hashed_or_our_own() -> None:
    for command in re.findall(r"^RUN .*?pip.*? install .*$", TEXT, flags=re.MULTILINE):
        assert "--require-hashes" in command or "--no-index" in command


def test_the_bill_of_materials_has_us_and_what_we_need() -> None:
    document = bill()

    assert document["metadata"]["component"]["name"] == "drumline"
    assert {"msgspec", "uvicorn"} <= {component["name"] for component in document["components"]}
    assert bill() == document


@pytest.fixture
def health(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("health", HEALTH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PATIENCE", 2.0)
    return module


@pytest.fixture(params=["scheduler", "worker", "notifier"])
def role(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {"DRUMLINE_DATA": str(tmp_path / "data"), "PATH": os.environ["PATH"]}
    drumline = str(Path(sys.executable).parent / "drumline")
    subprocess.run([drumline, "migrate"], env=environment, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    process = subprocess.Popen([drumline, request.param], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait(30)


def test_a_role_that_runs_is_healthy_and_one_that_is_stuck_is_not(
    health: ModuleType, role: "subprocess.Popen[bytes]", capsys: pytest.CaptureFixture[str]
) -> None:
    eventually(lambda: health._role_of(role.pid) is not None, 60, lambda: "it has no name yet")

    assert health.main([str(role.pid)]) == 0

    role.send_signal(signal.SIGSTOP)
    eventually(lambda: psutil.Process(role.pid).status() == psutil.STATUS_STOPPED, 10, lambda: "it goes on")
    assert health.main([str(role.pid)]) == 1
    assert "has not run" in capsys.readouterr().err


def test_a_server_is_healthy_while_it_answers(
    health: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(health, "_find", lambda _pid: (1, "api"))
    with Server(tmp_path / "data", app=None) as server:
        monkeypatch.setenv("DRUMLINE_PORT", server.url.rpartition(":")[2])
        assert health.main([]) == 0

    assert health.main([]) == 1
    assert "does not answer" in capsys.readouterr().err


def test_a_container_without_drumline_is_not_healthy(health: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main([str(os.getpid())]) == 1
    assert "no Drumline" in capsys.readouterr().err
