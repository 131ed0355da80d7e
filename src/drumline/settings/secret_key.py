"""The key of secrets: what is set, or on SQLite a file in the data folder that is made by itself."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from drumline.core.errors import Invalid
from drumline.ports.sealing import Box, NoBox
from drumline.settings.fields import SECRET_KEY_FILE, Settings
from drumline.stores.sealing import AesBox, new_key_text, parse_keys


def box_of(settings: Settings) -> Box:
    """Return what seals secrets, or raise `Invalid` for a key that is none. It reads files."""
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
    """Return what stands in a key file, made at random the first time, for its owner only."""
    with suppress(FileNotFoundError):
        return path.read_text(encoding="utf-8")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Written aside and linked into place: whoever looks finds no key or a whole one, and of two who start at the
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
