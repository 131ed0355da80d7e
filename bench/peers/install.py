"""Make an environment for one peer: `install.py FOLDER python|python3.12|node|go|programs PACKAGE…`, newest releases.

`python3.12` makes one with the oldest Python here that is at least so new. A peer in Go is built from its folder here,
which is named as its environment; `programs` are built from Go modules (`MODULE//PATH`), each in the newest release
that the Go at hand can build. The folder is left alone if it was made from the same packages before.
"""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

STAMP = "needs.txt"
FIND_PYTHON = Path(__file__).parents[2] / "scripts" / "find-python"
RELEASES_TRIED = 6


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
    if language == "programs":
        build_programs(home, packages)
    else:
        commands = {"node": node_commands, "go": partial(go_commands, home)}
        # npm chooses releases that suit the Node.js it runs on: that of the environment, once it is there.
        environ = os.environ | {"PATH": f"{home / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"}
        for command in commands.get(language, partial(python_commands, home, language))(packages):
            subprocess.run(command, check=True, cwd=home, env=environ, stdout=sys.stderr)
    stamp.write_text(needs)


def node_commands(packages: list[str]) -> list[list[str]]:
    """Return the commands that install packages with npm into the working directory, a Node.js among them first."""
    npm = shutil.which("npm") or "npm"
    install = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", "."]
    node = [package for package in packages if package.startswith("node@")]
    return [[*install, *part] for part in (node, [each for each in packages if each not in node]) if part]


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


def build_programs(home: Path, packages: list[str]) -> None:
    """Build programs of Go modules into `home`, each under the last part of its path."""
    go, environ = shutil.which("go") or "go", os.environ | {"GOBIN": str(home)}
    for package in packages:
        module, _, path = package.partition("//")
        listed = [go, "list", "-m", "-versions", "-json", f"{module}@latest"]
        told = subprocess.run(listed, check=True, cwd=home, stdout=subprocess.PIPE, text=True).stdout
        releases = [each for each in json.loads(told)["Versions"] if "-" not in each][-RELEASES_TRIED:]
        for release in reversed(releases):
            build = [go, "install", f"{module}/{path}@{release}"]
            if subprocess.run(build, check=False, cwd=home, env=environ, stdout=sys.stderr).returncode == 0:
                break
        else:
            sys.exit(f"no release of {module} can be built here: {', '.join(releases)}")


def python_of(language: str) -> str:
    """Return the Python that measures, or another one if that is older than `language` says."""
    wanted = tuple(int(part) for part in language.removeprefix("python").split(".") if part)
    if sys.version_info >= wanted:
        return sys.executable
    found = subprocess.run(["sh", str(FIND_PYTHON), "--all"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for python in found.split():
        fits = [python, "-c", f"import sys; sys.exit(sys.version_info < {wanted})"]
        if subprocess.run(fits, check=False).returncode == 0:
            return python
    sys.exit(f"no Python of {language.removeprefix('python')} or newer is installed")


def python_commands(home: Path, language: str, packages: list[str]) -> list[list[str]]:
    """Return the commands that make a virtual environment: by uv where it is at hand, or pip."""
    base, python = python_of(language), str(home / "bin" / "python")
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        return [
            [base, "-m", "venv", str(home)],
            [python, "-m", "pip", "install", "--quiet", *packages],
        ]
    create = [uv, "venv", "--quiet", "--allow-existing", "--python", base, str(home)]
    return [create, [uv, "pip", "install", "--quiet", "--python", python, *packages]]


if __name__ == "__main__":
    install(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
