"""Finds the apps to serve: by path (`hello.py`, `shop/`), by module (`shop.tasks`) or by name (`shop.tasks:app`).

A file is imported as the module that it is, so that a task has one name whether its file is run as a program,
imported, or served here: `hello.py` is `hello`, and `shop/tasks.py` inside a package is `shop.tasks`.
"""

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from drumline.core.errors import Invalid
from drumline.sdk.app import Drumline
from drumline.sdk.transport import Transport
from drumline.settings import Settings

App = Drumline[Any]


def load_apps(targets: Iterable[str]) -> list[App]:
    """Return every app that the targets name, each once."""
    apps: dict[int, App] = {}
    for target in targets:
        for app in _load(target):
            apps[id(app)] = app
    return list(apps.values())


def _load(target: str) -> list[App]:
    place, _, name = target.partition(":")
    module = _import(target, *_module_of(place, target))
    if name:
        return [_named(module, name, target)]
    apps = [app for value in tuple(vars(module).values()) if (app := _app_of(value)) is not None]
    if not apps:
        raise Invalid(f'{target} has no app: it needs a line such as `app = Drumline("shop")`', field="app")
    return apps


def _module_of(place: str, target: str) -> tuple[str, Path]:
    """Return a module's name, and the folder that it is imported from."""
    path = Path(place)
    if path.suffix == ".py" or "/" in place:
        if not path.exists():
            raise Invalid(f"{target}: there is no file {path}", field="app")
        path = path.resolve()
        if path.is_dir():
            path /= "__init__.py"
        parts = [path.stem] if path.stem != "__init__" else []
        folder = path.parent
        while (folder / "__init__.py").exists():
            parts.insert(0, folder.name)
            folder = folder.parent
        return ".".join(parts), folder
    return place, Path.cwd()


def _import(target: str, name: str, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module that the app imports may be missing too: that is for the app's author to see in full.
        if error.name is None or not name.startswith(error.name):
            raise
        raise Invalid(f"{target}: there is no module {error.name} in {folder} or on the path", field="app") from error
    except ValueError as error:
        raise Invalid(f"{target} is neither a file nor a module", field="app") from error


def _named(module: ModuleType, name: str, target: str) -> App:
    value = getattr(module, name, None)
    if (app := _app_of(value)) is not None:
        return app
    if value is not None:
        raise Invalid(f"{target}: {name} is a {type(value).__name__}, not an app", field="app")
    near = get_close_matches(name, vars(module), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise Invalid(f"{target}: {module.__name__} has no {name}{hint}", field="app")


def _app_of(value: Any) -> App | None:
    """Return an app, or the one behind an app with the interface of another queue (`drumline.compat`)."""
    if isinstance(value, Drumline):
        return value
    behind = None if isinstance(value, type) else getattr(type(value), "__drumline_app__", None)
    return None if behind is None else behind.__get__(value)


def bind_apps(apps: Sequence[App], transport: Transport, settings: Settings) -> None:
    """Let tasks submit tasks: their apps use `transport`, except those that name a server of their own.

    Child processes of CPU-bound tasks import the app anew; they find the server by their environment.
    """
    for app in apps:
        app.use(transport, unless_named=True)
    os.environ.update(_location_of(settings))


def _location_of(settings: Settings) -> dict[str, str]:
    location = {
        "DRUMLINE_DATA": str(settings.data.absolute()),
        "DRUMLINE_URL": settings.url,
        "DRUMLINE_API_KEY": settings.api_key,
        "DRUMLINE_STORE_URL": settings.store_url,
        "DRUMLINE_QUEUE_URL": settings.queue_url,
    }
    return {name: str(value) for name, value in location.items() if value is not None}
