"""The data folder: the first API key, and where clients on this machine find the server.

    api-key      the key, readable by its owner only
    server.json  {"url", "pid"} of the server that is running
    server.lock  held by that server; the kernel lets go of it however the process ends

Several servers may share a folder, since SQLite and the leases keep them apart. The first one is the one that clients
find; another only says where it listens.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

import msgspec
from msgspec import Struct

from drumline.core.api_key import SECRET_BYTES, make_key
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.settings.fields import KEY_FILE, SERVER_FILE, Secret, Settings

LOCK_FILE = "server.lock"


class ServerNote(Struct, frozen=True):
    """Where the server of a data folder listens."""

    url: str
    pid: int


def make_data_folder(data: Path) -> None:
    """Make the folder if it is missing, open to its owner only."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Invalid(f"the data folder {data} cannot be made: {error.strerror}", field="data") from error


def first_key(data: Path, environment: str = "live") -> str:
    """Return the key of a data folder, made at random the first time."""
    path = data / KEY_FILE
    with suppress(FileNotFoundError):
        return _read_key(path)
    # Written aside and linked into place: a reader finds no key or a whole one, and of two processes that start at the
    # same time the second takes the first one's.
    key = make_key(environment, secrets.token_bytes(SECRET_BYTES))
    aside = _write_aside(data, f"{key}\n".encode())
    try:
        with suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink()
    return _read_key(path)


def with_stored_key(settings: Settings) -> Settings:
    """Return the settings of a client: a key that is not set is the one in the data folder, if there is one."""
    path = settings.data / KEY_FILE
    if settings.api_key is not None or not path.exists():
        return settings
    return msgspec.structs.replace(settings, api_key=Secret(_read_key(path)))


@contextmanager
def announced(data: Path, url: str) -> Iterator[bool]:
    """Let clients find this server while it runs; tell whether they do, or find an earlier one."""
    lock = os.open(data / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        path = data / SERVER_FILE
        _write_aside(data, encode(ServerNote(url, os.getpid()))).replace(path)
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def is_served(data: Path) -> bool:
    """Tell whether a server runs on a data folder."""
    try:
        lock = os.open(data / LOCK_FILE, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def read_note(data: Path) -> ServerNote | None:
    """Return where the server of a data folder listens; one that was killed may have left its note behind."""
    try:
        return msgspec.json.decode((data / SERVER_FILE).read_bytes(), type=ServerNote)
    except (OSError, msgspec.DecodeError):
        return None


def _read_key(path: Path) -> str:
    key = path.read_text(encoding="utf-8").strip()
    if not key:
        raise Invalid(f"{path} is empty; remove it to get a new key", field="api_key")
    return key


def _write_aside(data: Path, content: bytes) -> Path:
    descriptor, name = mkstemp(dir=data, prefix=".new-")  # for its owner only, by itself
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Path(name)
