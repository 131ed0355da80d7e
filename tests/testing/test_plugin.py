"""The pytest plugin, as another project has it: in a folder of its own, with its own settings."""

import subprocess
import sys
from pathlib import Path

import pytest

NO_ASYNCIO = ["-p", "no:asyncio"]
APP = """
import asyncio
from drumline import Drumline

app = Drumline("shop")

@app.task
async def charge(order: int) -> int:
    await asyncio.sleep(3_600)
    return order
"""
SETTINGS = """
[tool.pytest.ini_options]
drumline_app = "shop:app"
pythonpath = ["."]
filterwarnings = ["error"]
"""
TESTS = """
import asyncio

from drumline import Status
from shop import charge

def test_blocking(world):
    assert charge.submit(7).result() == 7
    world.submitted(charge, 7)

async def test_async(world):
    began = world.now
    handle = await charge.asubmit(7)
    await asyncio.sleep(3_599)
    assert await handle.astatus() is Status.PROCESSING
    world.travel("1s")
    assert await handle == 7
    async with asyncio.timeout(86_400):
        await asyncio.sleep(86_399)
    assert (world.now - began).total_seconds() == 3_600 + 86_399

class TestInAClass:
    async def test_async(self, world, tmp_path):
        assert await (await charge.asubmit(8)) == 8
        assert tmp_path.exists()

def test_eager(eager_world):
    assert charge.submit(7).status() is Status.COMPLETED
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "test_shop.py").write_text(TESTS)
    return tmp_path


@pytest.mark.parametrize("mode", ["auto", "strict", None])
def test_sync_and_async_tests_have_a_world(project: Path, mode: str | None) -> None:
    scope = "asyncio_default_fixture_loop_scope=function"
    arguments = NO_ASYNCIO if mode is None else ["-o", f"asyncio_mode={mode}", "-o", scope]

    done = run(project, *arguments)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_without_an_app_the_fixture_says_what_to_do(project: Path) -> None:
    (project / "pyproject.toml").write_text(SETTINGS.replace('drumline_app = "shop:app"', ""))

    done = run(project, *NO_ASYNCIO, "-k", "blocking")

    assert done.returncode == 1
    assert 'drumline_app = "shop.tasks:app"' in done.stdout


def test_an_app_that_is_not_there_is_named(project: Path) -> None:
    (project / "pyproject.toml").write_text(SETTINGS.replace("shop:app", "shop:ap"))

    assert "shop has no ap; did you mean app?" in run(project, *NO_ASYNCIO, "-k", "blocking").stdout


def test_the_plugin_loads_nothing_before_it_is_used() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import drumline.testing.plugin;"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('_')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == str(["drumline", "drumline._version", "drumline.testing", "drumline.testing.plugin"])
