"""Starting the program again whenever a source file changes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

import drumline
from drumline.worker.hidden_environment import protect_process

PR_SET_PDEATHSIG = 1
LOOK_SECONDS = 0.5
ENDING_SECONDS = 15.0
LEFT_OUT = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__"})

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def run_again_on_change(targets: Sequence[str]) -> None:
    """Run this very command without `--reload` in a child process, again after each change, until interrupted."""
    protect_process()
    command = [sys.executable, "-m", "drumline.cli.main", *(word for word in sys.argv[1:] if word != "--reload")]
    folders = [Path(drumline.__file__).parent, *(_folder_of(target) for target in targets)]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    while True:
        seen = _stamps(folders)
        child = subprocess.Popen(  # noqa: S603 - our own command line
            command,
            start_new_session=True,
            preexec_fn=_stop_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - there is one thread
        )
        try:
            _wait_for_change(folders, seen, child)
        finally:
            _end(child)
        log.info("sources.changed")


def _stop_with_parent() -> None:
    """Have the kernel stop this process when its parent dies, however that dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _folder_of(target: str) -> Path:
    place = Path(target.partition(":")[0])
    return place if place.is_dir() else place.parent if place.suffix == ".py" else Path.cwd()


def _wait_for_change(folders: Sequence[Path], seen: dict[str, float], child: "subprocess.Popen[bytes]") -> None:
    while _stamps(folders) == seen:
        time.sleep(LOOK_SECONDS)
        code = child.poll()
        if code == 0:
            sys.exit(0)  # it was asked to stop


def _stamps(folders: Sequence[Path]) -> dict[str, float]:
    return {path: stamp for folder in folders for path, stamp in _sources(folder)}


def _sources(folder: Path) -> Iterator[tuple[str, float]]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in files:
            if name.endswith((".py", ".sql", ".lua")):
                path = os.path.join(place, name)  # noqa: PTH118 - looked at twice a second
                try:
                    yield path, os.stat(path).st_mtime  # noqa: PTH116
                except FileNotFoundError:
                    continue


def _end(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
