"""Libraries in C that are preloaded into processes, built when a run starts."""

import subprocess
from pathlib import Path

from scripts import programs

SOURCES = Path(__file__).parent


def build(name: str, folder: Path) -> tuple[Path, str | None]:
    """Build a library in a folder; return its path, and why it cannot be had if it cannot."""
    library = folder / f"{name}.so"
    if reason := programs.missing("cc"):
        return library, reason
    compiler = programs.find_program("cc")
    assert compiler is not None
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCES / f"{name}.c"), "-ldl"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return library, None if done.returncode == 0 else f"{name}.c cannot be built: {done.stderr[:200]}"
