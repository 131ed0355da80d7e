"""Lua from files: one script per verb, with its contract on top; what several share stands in front of each."""

from hashlib import sha1
from importlib.resources import files
from typing import Final

SHARED: Final = "_lanes.lua"
LONE: Final = frozenset({"sync", "note_task", "note_status", "keep_task", "keep_status", "probe", "take"})
"""Scripts that touch no lane."""


class Script:
    """A script's text, and the name under which the server remembers it."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.sha = sha1(text.encode(), usedforsecurity=False).hexdigest()


def _load() -> dict[str, Script]:
    folder = files("drumline.redis") / "lua"
    shared = (folder / SHARED).read_text("utf-8")
    found = {}
    for entry in folder.iterdir():
        name = entry.name.removesuffix(".lua")
        if entry.name.endswith(".lua") and entry.name != SHARED:
            text = entry.read_text("utf-8")
            found[name] = Script(name, text if name in LONE else f"{shared}\n{text}")
    return found


SCRIPTS: Final = _load()
"""Every script, by its verb: `SCRIPTS["pop"]` is `lua/pop.lua`."""
