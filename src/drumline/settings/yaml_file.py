"""Settings from a YAML file. Only plain data is read from it: nothing in it can make Python objects."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from drumline.core.errors import Invalid
from drumline.core.json_errors import suggestion
from drumline.settings.leaves import LEAVES, ROOMS, Given


class YamlFile:
    """One file, as a source of settings."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = str(path)

    def stamp(self) -> object:
        """Return something that differs once the file may have changed; a link is followed, as in a mounted volume."""
        try:
            found = self._path.stat()
        except OSError as error:
            return error.errno
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> dict[str, Given]:
        """Return the settings of the file, by path, or raise `Invalid` saying what is wrong with it."""
        content = _parse(self._path)
        if content is None:
            return {}
        if not isinstance(content, dict):
            raise Invalid(f"{self._path} must hold keys and values, such as `port: 8080`", field="config")
        return dict(_flatten(content, self._path, ""))


def _flatten(content: Mapping[Any, object], file: Path, room: str) -> Iterator[tuple[str, Given]]:
    for name, value in content.items():
        path = f"{room}{name}"
        if path in ROOMS and isinstance(value, dict):
            yield from _flatten(value, file, f"{path}.")
        elif path in LEAVES:
            if value is not None:
                yield path, Given(value, f"{path} in {file}")
        elif path in ROOMS:
            raise Invalid(f"{path} in {file} must hold keys and values", field=path)
        else:
            hint = suggestion(path, [*LEAVES, *ROOMS])
            raise Invalid(f"{file} sets {path}, which does not exist{hint}", field=path)


def _parse(path: Path) -> object:
    try:
        import yaml  # noqa: PLC0415 - only those who have a settings file need it
    except ImportError as error:
        raise Invalid(f"reading {path} needs PyYAML: pip install 'drumline[server]'", field="config") from error
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not YAML: {' '.join(str(error).split())}", field="config") from error
    except RecursionError as error:
        raise Invalid(f"{path} is nested too deeply", field="config") from error
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}", field="config") from error
