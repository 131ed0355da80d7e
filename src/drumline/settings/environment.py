"""Settings from environment variables."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from drumline.core.errors import Invalid
from drumline.core.json_errors import suggestion
from drumline.settings.leaves import LEAVES, PREFIX, Given, Leaf

CONFIG_VARIABLE: Final = "DRUMLINE_CONFIG"
COMMON_NAMES: Final = {"DATABASE_URL": "store_url", "REDIS_URL": "queue_url"}
"""Variables that platforms set by themselves; the ones with our own prefix win over them."""

MAY_BE_EMPTY: Final = frozenset({"queue_prefix"})
"""Settings for which an empty text means something; of the others an empty variable counts as not set."""

_OUTSIDE = re.compile(
    r"(?=\w+\Z)(?:DRUMLINE_(TEST|BENCH)_\w+|\w+_SERVICE_(HOST|PORT)(_\w+)?|\w+_PORT_\d+_(TCP|UDP)(_\w+)?)"
)
_SERVICE_LINK = re.compile(r"(tcp|udp)://")


def from_environment(environ: Mapping[str, str]) -> dict[str, Given]:
    """Return what variables set, by path, or raise `Invalid` for one with our prefix that means nothing."""
    known = {leaf.variable: leaf for leaf in LEAVES.values()}
    ours = {name for name in environ if name.startswith(PREFIX) and environ[name]}
    files = {f"{leaf.variable}_FILE" for leaf in LEAVES.values() if leaf.is_secret}
    for name in sorted(ours - known.keys() - files - {CONFIG_VARIABLE}):
        if not _OUTSIDE.fullmatch(name) and not _is_service_link(name, environ[name]):
            # The prefix is the same in all of them, so it says nothing about which one was meant.
            hint = suggestion(name.removeprefix(PREFIX), [word.removeprefix(PREFIX) for word in (*known, *files)])
            hint = hint.replace("mean ", f"mean {PREFIX}")
            raise Invalid(f"{name} is set, but means nothing{hint}", field=name)
    given: dict[str, Given] = {}
    for name, path in COMMON_NAMES.items():
        given |= _from_variable(environ, name, LEAVES[path])
    for name, leaf in known.items():
        if not _is_service_link(name, environ.get(name, "")):
            given |= _from_variable(environ, name, leaf)
    return given


def _from_variable(environ: Mapping[str, str], name: str, leaf: Leaf) -> dict[str, Given]:
    text, file = environ.get(name), environ.get(f"{name}_FILE") if leaf.is_secret else None
    if text and file:
        raise Invalid(f"{name} and {name}_FILE are both set: keep one", field=leaf.path)
    if file:
        try:
            text = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{name}_FILE names {file}, which cannot be read: {error}", field=leaf.path) from error
        name = f"{name}_FILE"
    is_given = bool(text) or (text is not None and leaf.path in MAY_BE_EMPTY)
    return {leaf.path: Given(text, name, textual=True)} if is_given else {}


def _is_service_link(name: str, value: str) -> bool:
    # Kubernetes gives every pod variables like DRUMLINE_PORT=tcp://10.0.0.7:8080 for a service called drumline.
    return name.endswith("_PORT") and _SERVICE_LINK.match(value) is not None
