"""A copy of the database, made while others read and write."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct

from drumline.core.errors import Conflict, Invalid, Unavailable

BUSY_SECONDS: Final = 20.0


class Backup(Struct, frozen=True):
    """What was made."""

    file: str
    size: int
    schema: int
    seconds: float


def back_up(source: Path, target: Path, *, replace: bool = False) -> Backup:
    """Copy a database as it is at one moment; writes meanwhile go on, and are not in the copy.

    The target is whole or not there, also when the machine fails. It is checked before it is given its name.
    """
    if not source.is_file():
        raise Invalid(f"there is no database {source}", field="data")
    if target.exists() and not replace:
        raise Conflict(f"{target} is there already", field="target")
    began = time.monotonic()
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        schema = _copy(source, aside)
        _sync(aside)
        aside.replace(target)
        _sync(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise Unavailable(f"the copy could not be made: {error}") from error
    finally:
        aside.unlink(missing_ok=True)
    return Backup(str(target), target.stat().st_size, schema, time.monotonic() - began)


def _copy(source: Path, aside: Path) -> int:
    """Copy in one step, which sees one moment: in pieces, every write of others would begin it anew."""
    os.close(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))  # payloads are nobody else's business
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as reading,
        closing(sqlite3.connect(aside, timeout=BUSY_SECONDS)) as writing,
    ):
        reading.backup(writing)
        # The copy stands alone: nobody has to know that a log belongs to it.
        writing.execute("PRAGMA journal_mode = DELETE")
        (state,) = writing.execute("PRAGMA quick_check").fetchone()
        if state != "ok":
            raise Unavailable(f"the copy is damaged, and so is perhaps the database: {state}")
        (schema,) = writing.execute("PRAGMA user_version").fetchone()
        return int(schema)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
