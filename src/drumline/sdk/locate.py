"""Where Drumline is: an argument beats the environment, which beats what the data folder says.

The only place in the SDK that reads the environment or the data folder.
"""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from drumline.core.errors import Invalid


class Place(Struct, frozen=True, kw_only=True):
    """Where to reach Drumline. Without a `url` there is only the data folder."""

    data: Path
    url: str | None = None
    is_sure: bool = False
    """Whether somebody named the URL; one that was found in the data folder may be stale."""
    api_key: str | None = None


class _Server(Struct):
    url: str
    pid: int


def locate(*, url: str | None = None, api_key: str | None = None, data: Path | str | None = None) -> Place:
    """Return where Drumline is, from what was given and what can be found."""
    folder = Path(data or os.environ.get("DRUMLINE_DATA") or ".drumline").absolute()
    named = url or os.environ.get("DRUMLINE_URL") or None
    if named is not None and not named.startswith(("http://", "https://")):
        raise Invalid(f"must start with http:// or https://, not {named!r}", field="url")
    return Place(
        data=folder,
        url=named or _running_server(folder),
        is_sure=named is not None,
        api_key=api_key or os.environ.get("DRUMLINE_API_KEY") or _stored_key(folder),
    )


def _stored_key(folder: Path) -> str | None:
    try:
        return (folder / "api-key").read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None


def _running_server(folder: Path) -> str | None:
    try:
        server = msgspec.json.decode((folder / "server.json").read_bytes(), type=_Server)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return server.url if _is_running(server.pid) else None


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs, for another user
        return True
    return True
