"""Reads the table of outside programs: finds each on this machine, or says what to install.

Only the standard library is used: the installer runs before anything else is installed.
"""

import os
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "scripts" / "programs.toml"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "drumline"
COMMANDS = {"debian": "apt-get install", "fedora": "dnf install", "macos": "brew install"}
"""How a package is installed on each system that the table knows."""
BESIDES = ("/usr/sbin", "/usr/local/sbin")
"""Folders of servers, which are not on everyone's PATH."""


@dataclass(frozen=True)
class Component:
    """One section of the table."""

    name: str
    programs: tuple[str, ...]
    files: str
    look_in: tuple[str, ...]
    packages: Mapping[str, tuple[str, ...]]
    fetch: str
    needs: tuple[str, ...]
    purpose: str
    tests: tuple[str, ...]

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Each program with those that will do instead."""
        return tuple(tuple(one.split("|")) for one in self.programs)


@cache
def components() -> Mapping[str, Component]:
    """Return the table, by name."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {name: _component(name, entry) for name, entry in table.items()}


def system(release: Path = Path("/etc/os-release")) -> str:
    """Return which column of packages holds here: `debian`, `fedora`, `macos` or nothing."""
    if sys.platform == "darwin":
        return "macos"
    if not release.exists():
        return ""
    entries = dict(line.split("=", 1) for line in release.read_text(encoding="utf-8").splitlines() if "=" in line)
    likes = f"{entries.get('ID', '')} {entries.get('ID_LIKE', '')}".replace('"', "").split()
    return next((like for like in likes if like in COMMANDS), "")


def declared(program: str) -> Component | None:
    """Return the component that a program belongs to, or None if the table does not name it."""
    for component in components().values():
        if any(program in names for names in component.alternatives):
            return component
    return None


def owner(program: str) -> Component:
    """Return the component that a program belongs to; one that the table does not name is refused."""
    component = declared(program)
    if component is None:
        raise LookupError(f"{program} is not in {TABLE.relative_to(ROOT)}: every outside program is declared there")
    return component


def find_program(program: str) -> str | None:
    """Return the path of a program of the table: of itself, or of what will do instead; None if it is missing."""
    component = owner(program)
    names = next(names for names in component.alternatives if program in names)
    return next((found for name in names if (found := _find(name, component.look_in))), None)


def find_files(name: str) -> Path | None:
    """Return the newest file that a component's pattern finds."""
    return _newest(components()[name].files)


def missing(name: str, here: str | None = None) -> str | None:
    """Return what is missing of a component and how to get it, in one line; None if all of it is there."""
    component = components()[name]
    if is_there(component):
        return None
    where = system() if here is None else here
    packages = packages_for(component, where)
    steps = [f"{COMMANDS[where]} {' '.join(packages)}"] if packages else []
    if component.fetch and where not in component.packages:
        steps.append(f"python3 -m scripts.install_programs {name}")
    if not steps:
        steps = [f"install {' and '.join(names[0] for names in component.alternatives)} with your package manager"]
    return f"{name} is missing: {' && '.join(steps)}"


def packages_for(component: Component, where: str) -> tuple[str, ...]:
    """Return the packages of a system that bring a component and what it needs."""
    needed = [components()[name] for name in component.needs]
    absent = [one for one in (*needed, component) if not is_there(one)]
    return tuple(package for one in absent for package in one.packages.get(where, ()))


def is_there(component: Component) -> bool:
    """Tell whether everything of a component is on this machine; what only fetches it need not be."""
    used = [components()[name] for name in component.needs if components()[name].purpose != "fetch"]
    if component.files and _newest(component.files) is None:
        return False
    return all(find_program(names[0]) for names in component.alternatives) and all(map(is_there, used))


def _component(name: str, entry: dict[str, Any]) -> Component:
    return Component(
        name=name,
        programs=tuple(entry.get("programs", ())),
        files=entry.get("files", ""),
        look_in=tuple(entry.get("look_in", ())),
        packages={system: tuple(entry[system]) for system in COMMANDS if system in entry},
        fetch=entry.get("fetch", ""),
        needs=tuple(entry.get("needs", ())),
        purpose=entry["for"],
        tests=tuple(entry["tests"]),
    )


def _find(name: str, look_in: tuple[str, ...]) -> str | None:
    path = os.pathsep.join((os.environ.get("PATH", ""), *BESIDES))
    if found := shutil.which(name, path=path):
        return found
    found_last = [match for pattern in look_in if (match := _newest(f"{pattern}/{name}"))]
    return str(found_last[-1]) if found_last else None


def _newest(pattern: str) -> Path | None:
    full = pattern.replace("{cache}", str(CACHE)).replace("{root}", str(ROOT))
    found = sorted(Path("/").glob(full.lstrip("/")))
    return found[-1] if found else None
