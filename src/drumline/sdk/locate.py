"""Where Drumline is: an argument beats the environment, which beats what the data folder says.

The only place in the SDK that reads the environment or the data folder.
"""

import os
import warnings
from pathlib import Path

import msgspec
from msgspec import Struct

from drumline.core.errors import Invalid
from drumline.sdk.errors import NoServer

SQLITE_FILE = "drumline.db"
"""The file of a data folder in which tasks are."""


class Direct(Struct, frozen=True, kw_only=True):
    """Backends to use without a server between: for trusted programs beside the database."""

    store: str
    """`postgresql://…`, or `sqlite:///path`."""
    queue: str | None = None
    """`redis://…`, if the workers use one."""


class ServerLocation(Struct, frozen=True, kw_only=True):
    """Where to reach Drumline. Without a `url` it is opened in this process: on `direct`, or on the data folder."""

    data: Path
    url: str | None = None
    is_sure: bool = False
    """Whether the caller or the environment names the URL; one found in the data folder may be stale."""
    api_key: str | None = None
    direct: Direct | None = None
    blob_url: str | None = None
    """The blob store of the installation, for an engine in this process."""
    is_asked: bool = False
    """Whether the caller or the environment names the data folder; `./.drumline` may be anywhere."""


class _Server(Struct):
    url: str
    pid: int


def locate(
    *,
    url: str | None = None,
    api_key: str | None = None,
    data: Path | str | None = None,
    direct: Direct | None = None,
) -> ServerLocation:
    """Return where Drumline is, from what was given and what can be found."""
    folder = Path(data or os.environ.get("DRUMLINE_DATA") or ".drumline").absolute()
    if url and direct:
        raise Invalid("cannot be given together with url", field="direct")
    named = url or (None if direct else os.environ.get("DRUMLINE_URL") or None)
    direct = direct or (None if named else _named_backends())
    if named is not None and not named.startswith(("http://", "https://")):
        raise Invalid(f"must start with http:// or https://, not {named!r}", field="url")
    return ServerLocation(
        is_asked=data is not None or bool(os.environ.get("DRUMLINE_DATA")),
        data=folder,
        url=named or (None if direct else _running_server(folder)),
        is_sure=named is not None,
        direct=direct,
        blob_url=os.environ.get("DRUMLINE_BLOB_URL") or None,
        api_key=api_key or os.environ.get("DRUMLINE_API_KEY") or _stored_key(folder),
    )


def _named_backends() -> Direct | None:
    store = os.environ.get("DRUMLINE_STORE_URL")
    return Direct(store=store, queue=os.environ.get("DRUMLINE_QUEUE_URL") or None) if store else None


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


def check_asked(place: ServerLocation) -> None:
    """Raise `NoServer` rather than create a data folder that was not asked for; warn of one without a server.

    A program that has lost its DRUMLINE_URL would leave its tasks in a folder that no worker reads.
    """
    if place.direct is not None or place.is_asked:
        return
    if not (place.data / SQLITE_FILE).exists():
        raise NoServer(
            f"nothing says where tasks go: no server is named, none runs on {place.data}, and there is no data there. "
            "Start one with `drumline dev`, set DRUMLINE_URL, or ask for embedded use with "
            'DRUMLINE_DATA or Drumline(…, data=".drumline")'
        )
    warnings.warn(
        f"no Drumline server runs here: tasks are written into {place.data} and wait there until a server works on "
        "it; set DRUMLINE_URL, or name the folder with DRUMLINE_DATA if that is meant",
        RuntimeWarning,
        stacklevel=2,
    )
