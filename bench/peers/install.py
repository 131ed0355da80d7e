"""Make an environment for one peer: `install.py FOLDER python|node|go PACKAGE…`, newest releases.

A peer in Go is built from its folder here, which is named as its environment. The folder is left alone if it was made
from the same packages before.
"""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

STAMP = "needs.txt"


def install(home: Path, language: str, packages: list[str]) -> None:
    """Make `home` anew unless it holds `packages` already."""
    stamp, needs = home / STAMP, "\n".join(packages)
    if stamp.exists() and stamp.read_text() == needs:
        return
    sys.stderr.write(f"installing {', '.join(packages)}\n")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    if language == "go":
        shutil.copytree(Path(__file__).parent / home.name, home, dirs_exist_ok=True)
    commands = {"node": node_commands, "go": partial(go_commands, home), "python": partial(python_commands, home)}
    for command in commands[language](packages):
        subprocess.run(command, check=True, cwd=home, stdout=sys.stderr)
    stamp.write_text(needs)


def node_commands(packages: list[str]) -> list[list[str]]:
    """Return the commands that install packages with npm into the working directory."""
    npm = shutil.which("npm") or "npm"
    return [[npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".", *packages]]


def go_commands(home: Path, packages: list[str]) -> list[list[str]]:
    """Return the commands that build the program in the working directory with the newest modules."""
    go = shutil.which("go") or "go"
    newest = [f"{package}@latest" for package in packages]
    return [
        [go, "mod", "init", home.name],
        [go, "get", *newest],
        [go, "mod", "tidy"],
        [go, "build", "-o", home.name, "."],
    ]


def python_commands(home: Path, packages: list[str]) -> list[list[str]]:
    """Return the commands that make a virtual environment: by uv where it is at hand, or pip."""
    python = str(home / "bin" / "python")
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        return [
            [sys.executable, "-m", "venv", str(home)],
            [python, "-m", "pip", "install", "--quiet", *packages],
        ]
    create = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(home)]
    return [create, [uv, "pip", "install", "--quiet", "--python", python, *packages]]


if __name__ == "__main__":
    install(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
