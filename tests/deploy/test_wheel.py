"""The steps of the image, replayed in a bare folder: the wheel is built from little, and runs alone."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.deploy.files import ROOT

BUILT = [ROOT / "src" / "drumline" / name for name in ("_ui/index.html", "_docs/index.html.gz")]

MOST_OF_INTERFACE = 700_000
"""Bytes of a wheel, compressed as they are there."""


def weight(wheel: Path, folder: str) -> int:
    with zipfile.ZipFile(wheel) as files:
        return sum(entry.compress_size for entry in files.infolist() if entry.filename.startswith(folder))


@pytest.mark.services
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    not all(path.exists() for path in BUILT), reason="the interface or the documentation is missing: make ui docs"
)
def test_the_wheel_installs_alone_and_every_role_starts_from_it(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    (bare / "scripts").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "scripts/hatch_build.py"):
        shutil.copy(ROOT / name, bare / name)
    shutil.copytree(ROOT / "src", bare / "src", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    quick = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHON": sys.executable}

    subprocess.run([*build, "--wheel-dir", str(tmp_path), "."], cwd=bare, check=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    assert weight(wheel, "drumline/_ui/") < MOST_OF_INTERFACE
    tried = subprocess.run(
        [str(ROOT / "scripts" / "try-wheel"), str(wheel)],
        cwd=bare, env=quick, capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip

    if "Failed to fetch" in tried.stderr or "Could not find a version" in tried.stderr:
        pytest.skip("a pinned package is missing: there is no way to the package index")
    assert tried.returncode == 0, tried.stderr
    assert "stops in order" in tried.stderr
