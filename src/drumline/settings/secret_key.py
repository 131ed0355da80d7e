"""The encryption key of secrets: the setting, or on SQLite a file in the data folder that is created if missing."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from drumline.core.errors import Invalid
from drumline.ports.sealing import Box, NoBox
from drumline.settings.fields import SECRET_KEY_FILE, Settings
from drumline.stores.sealing import AesBox, new_key_text, parse_keys


def box_of(settings: Settings) -> Box:
    """Return the box that seals secrets, or raise `Invalid` for a malformed key. It reads files."""
    if settings.secret_key is not None:
        return AesBox(parse_keys(settings.secret_key))
    if settings.sqlite_path is None:
        return NoBox()
    path = settings.data / SECRET_KEY_FILE
    try:
        return AesBox(parse_keys(_made(path), field=str(path)))
    except OSError as error:
        raise Invalid(f"{path} cannot be read or made: {error.strerror}", field="secret_key") from error


def _made(path: Path) -> str:
    """Return the content of a key file, created with a random key the first time, readable by its owner only."""
    with suppress(FileNotFoundError):
        return path.read_text(encoding="utf-8")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Written aside and linked into place: a reader finds no key or a whole one, and of two processes that start at the
    # same time the second takes the first one's.
    descriptor, aside = mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{new_key_text()}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(aside, path)
    finally:
        Path(aside).unlink()
    return path.read_text(encoding="utf-8")
