"""The commands of the documentation do what they say: each page is run as a reader would, in a folder of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.docs.pages import ROOT, Block, blocks_of, pages
from tests.docs.shell import commands_of, is_run, script_of

PAGES = pages(
    "README.md", "docs/*.md", "docs/tutorial/*.md", "docs/how-to/*.md", "docs/explanation/*.md", "docs/reference/*.md"
)
SECONDS = 150
"""How long a page may take on a busy machine."""
SHELL = {"sh", "bash", "console", "shell"}
RUNNABLE = [page for page in PAGES if any(is_run(block) and commands_of(block) for block in blocks_of(page))]


def environment(folder: Path, port: int) -> dict[str, str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("DRUMLINE_", "DATABASE_URL"))}
    return {
        **outside,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PAGE_PORT": str(port),
        "DRUMLINE_PORT": str(port),
        "DRUMLINE_LOG_LEVEL": "warning",
        "NO_COLOR": "1",
    }


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def written_for(script: str, folder: Path, request: pytest.FixtureRequest, port: int) -> str:
    """Return a script with the addresses of this machine in place of those that the pages have for a reader's."""
    places = {
        "127.0.0.1:8080": f"127.0.0.1:{port}",
        "localhost:8080": f"127.0.0.1:{port}",
        "--port 8080": f"--port {port}",
    }
    if "9464" in script:
        places["9464"] = str(free_port())
    if "postgresql://drumline@db.example/drumline" in script:
        places["postgresql://drumline@db.example/drumline"] = request.getfixturevalue("empty_postgres_url")
    if "redis://redis.example:6379/0" in script:
        places["redis://redis.example:6379/0"] = request.getfixturevalue("redis_url")
    if "PAGE_OTHER_DATABASE" in script:
        places["$PAGE_OTHER_DATABASE"] = request.getfixturevalue("other_postgres_url")
    if "@pg2.example" in script:
        shards: dict[str, str] = request.getfixturevalue("page_shard_urls")
        places |= {f"postgresql://drumline@{name}.example/drumline": url for name, url in shards.items()}
    places["/backups/"] = f"{folder}/backups/"
    for theirs, ours in places.items():
        script = script.replace(theirs, ours)
    return script


def run(script: str, folder: Path, variables: dict[str, str], said: IO[bytes]) -> int:
    """Run a script in a session of its own, and leave nothing of it behind."""
    shell = subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
        start_new_session=True,
    )  # fmt: skip
    try:
        return shell.wait(SECONDS)
    except subprocess.TimeoutExpired:
        return -1
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def run_page(blocks: list[Block], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Run blocks one after the other, as one reader would."""
    folder = tmp_path / "reader"
    for place in (folder, folder / "backups"):
        place.mkdir()
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "deploy").symlink_to(ROOT / "deploy")
    port = free_port()
    script = written_for(script_of(blocks), folder, request, port)

    with (tmp_path / "said").open("wb") as said:
        code = run(script, folder, environment(folder, port), said)

    output = (tmp_path / "said").read_text(encoding="utf-8", errors="replace")
    log = (folder / "server.log").read_text() if (folder / "server.log").exists() else ""
    assert code == 0, f"{output[-4000:]}\n--- the server said\n{log[-2000:]}"


@pytest.mark.faults
@pytest.mark.timeout(SECONDS + 30)
@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT).with_suffix("")))
def test_the_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    run_page(blocks_of(page), tmp_path, request)


def test_every_block_of_commands_is_run_or_says_why_not() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page) if block.language in SHELL]
    silent = [block.place for block in blocks if not is_run(block) and "file" not in block.notes and not _reason(block)]

    assert len(blocks) > 60
    assert silent == []


def test_few_commands_are_left_out() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page) if block.language in SHELL]
    left_out = [f"{block.place}: {_reason(block)}" for block in blocks if _reason(block)]
    left_out += [
        f"{block.place}: {command.text}: {command.reason}"
        for block in blocks
        if is_run(block)
        for command in commands_of(block)
        if command.reason
    ]
    print(*left_out, sep="\n")  # noqa: T201 - `pytest -s` lists them

    run = [command for block in blocks if is_run(block) for command in commands_of(block) if not command.reason]
    assert len(run) > 100
    assert len(left_out) < len(run) / 4


def _reason(block: Block) -> str:
    return block.notes.get("not run", "")
