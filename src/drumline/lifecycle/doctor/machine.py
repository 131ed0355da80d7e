"""Checks of this machine: settings, data folder, disk and port."""

import errno
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from drumline.core.doctor_report import Finding
from drumline.lifecycle.data_folder import read_note
from drumline.lifecycle.doctor.findings import note, ok, problem, warning
from drumline.settings import Settings, Sources

LEAST_FREE: Final = 64 * 1024 * 1024
LITTLE_FREE: Final = 1024 * 1024 * 1024


def examine_settings(sources: Sources) -> Iterator[Finding]:
    """Check the settings."""
    found = sources.problems()
    for error in found:
        yield problem("settings", error.message, "Correct it; `drumline config docs` explains every setting.")
    if not found:
        names = ", ".join(source.name for source in sources.outside)
        yield ok("settings", f"everything that is set is valid ({names or 'no settings file'})")


def examine_machine(settings: Settings) -> Iterator[Finding]:
    """Check the data folder, its disk and the port."""
    if settings.url is None:
        yield _disk(settings.data)
        yield from _folder(settings)
        yield _port(settings)


def _disk(data: Path) -> Finding:
    folder = data.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    text = f"{free / 1024**3:.1f} GiB are free on the disk of {data}"
    if free < LEAST_FREE:
        return problem("disk", text, "Make room: with less than 64 MiB the server says that it is down.")
    if free < LITTLE_FREE:
        return warning("disk", text, "Make room, or shorten `retention`.")
    return ok("disk", text)


def _folder(settings: Settings) -> Iterator[Finding]:
    data = settings.data
    if not data.exists():
        return
    if not os.access(data, os.W_OK | os.X_OK):
        yield problem("data", f"{data} cannot be written to", "Give it to the user that Drumline runs as.")
    elif settings.sqlite_path is not None and data.stat().st_mode & 0o077:
        yield warning("data", f"others can look into {data}", f"chmod 700 {data}")


def _port(settings: Settings) -> Finding:
    where = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            return _taken(settings, where, error)
    return ok("port", f"{where} is free")


def _taken(settings: Settings, where: str, error: OSError) -> Finding:
    running = read_note(settings.data)
    if running is not None and running.url.endswith(f":{settings.port}"):
        return note("port", f"{where} is taken by the Drumline of this data folder (pid {running.pid})")
    if error.errno == errno.EADDRINUSE:
        return warning("port", f"{where} is taken by another program", "Stop it, or set another `port`.")
    return problem("port", f"{where} cannot be listened on: {error.strerror}", "Set another `host` or `port`.")
