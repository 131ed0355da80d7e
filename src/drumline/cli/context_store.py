"""Contexts: servers by name, each with its address and API key, in a file of the user.

The file is `config.toml` in `$XDG_CONFIG_HOME/drumline` or `~/.config/drumline`, readable by its owner alone. A key is
kept in the system's keyring where the package `keyring` is installed and has one, otherwise in the file.
"""

import os
import tempfile
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from drumline.core.errors import Invalid, NotFound

NO_CONTEXT: Final = "local"
"""The name that means none: the server is found by the environment or the data folder."""
SERVICE: Final = "drumline"
"""The name under which keys are kept in a keyring."""
LONGEST_NAME: Final = 64


class Context(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A server that commands can talk to."""

    url: str
    key: str | None = None
    """The API key, unless a keyring has it."""
    in_keyring: bool = False
    is_production: bool = False
    """Whether every command that changes something asks first."""


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    current: str | None = None
    contexts: dict[str, Context] = {}


class ContextStore:
    """Reads and writes the file of contexts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._read()

    @classmethod
    def of_user(cls) -> "ContextStore":
        """Return the contexts of the person who runs the command."""
        return cls(user_file())

    @property
    def names(self) -> list[str]:
        """The names, sorted."""
        return sorted(self._file.contexts)

    @property
    def current(self) -> str | None:
        """The name of the context that commands use, if one is chosen."""
        return self._file.current

    def get(self, name: str) -> Context:
        """Return a context, or raise `NotFound`."""
        from drumline.core.json_errors import suggestion

        try:
            return self._file.contexts[name]
        except KeyError:
            near = suggestion(name, self.names) or "; drumline context list shows those there are"
            raise NotFound(f"there is no context {name}{near}", field="context") from None

    def key_of(self, name: str) -> str | None:
        """Return the API key of a context."""
        context = self.get(name)
        return _keyring_get(name) if context.in_keyring else context.key

    def put(self, name: str, url: str, key: str, *, is_production: bool) -> Context:
        """Add or replace a context, and make it the current one."""
        check_name(name)
        context = Context(url=url, is_production=is_production)
        is_kept = _keyring_set(name, key)
        context = replace(context, in_keyring=True) if is_kept else replace(context, key=key)
        self._write(_File(current=name, contexts={**self._file.contexts, name: context}))
        return context

    def use(self, name: str) -> None:
        """Make a context the current one; `local` means none."""
        if name != NO_CONTEXT:
            self.get(name)
        self._write(replace(self._file, current=None if name == NO_CONTEXT else name))

    def remove(self, name: str) -> None:
        """Delete a context and its key."""
        if self.get(name).in_keyring:
            _keyring_delete(name)
        left = {other: context for other, context in self._file.contexts.items() if other != name}
        current = None if self._file.current == name else self._file.current
        self._write(_File(current=current, contexts=left))

    def _read(self) -> _File:
        try:
            found = tomllib.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return _File()
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise Invalid(f"{self._path} is not TOML: {error}") from error
        try:
            return convert(found, _File)
        except ValidationError as error:
            raise Invalid(f"{self._path}: {error}") from error

    def _write(self, file: _File) -> None:
        """Replace the file as a whole: a command that is killed leaves the old one."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=".config-")  # readable by its owner alone
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as made:
                made.write(_toml(file))
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        self._file = file


def user_file() -> Path:
    """Return where the contexts of this user are kept."""
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "drumline" / "config.toml"


def check_name(name: str) -> None:
    """Raise `Invalid` for a name that a context cannot have."""
    if name == NO_CONTEXT:
        raise Invalid(f"{NO_CONTEXT} means no context: choose another name", field="name")
    is_plain = all(letter.isascii() and (letter.isalnum() or letter in "-_.") for letter in name)
    if not name or len(name) > LONGEST_NAME or not is_plain:
        raise Invalid(f"has to be 1 to {LONGEST_NAME} letters, digits, dots, dashes or underscores", field="name")


def _toml(file: _File) -> str:
    lines = [] if file.current is None else [f"current = {_text(file.current)}"]
    for name, context in sorted(file.contexts.items()):
        lines += ["", f"[contexts.{_text(name)}]", f"url = {_text(context.url)}"]
        if context.key is not None:
            lines.append(f"key = {_text(context.key)}")
        lines += [f"{field} = true" for field in ("in_keyring", "is_production") if getattr(context, field)]
    return "\n".join([*lines, ""])


def _text(value: str) -> str:
    """Return a text as TOML writes it: JSON's form is one of TOML's."""
    import json

    return json.dumps(value)


def _keyring() -> Any:
    """Return the keyring package if it is installed and this system has a keyring that it can use."""
    try:
        keyring = import_module("keyring")
        none = import_module("keyring.backends.fail")
    except ImportError:
        return None
    return None if isinstance(keyring.get_keyring(), none.Keyring) else keyring


def _keyring_get(name: str) -> str | None:
    ring = _keyring()
    if ring is None:
        raise Invalid(f"the key of context {name} is in a keyring, which cannot be used here: log in again")
    found: str | None = ring.get_password(SERVICE, name)
    return found


def _keyring_set(name: str, key: str) -> bool:
    """Keep a key in the keyring; tell whether there is one."""
    ring = _keyring()
    if ring is None:
        return False
    ring.set_password(SERVICE, name, key)
    return True


def _keyring_delete(name: str) -> None:
    ring = _keyring()
    if ring is not None and ring.get_password(SERVICE, name) is not None:
        ring.delete_password(SERVICE, name)
