"""Links to pages of the web interface, for messages that people read outside of it."""

from types import MappingProxyType
from typing import Final
from urllib.parse import quote

PAGES: Final = MappingProxyType(
    {"task": "tasks", "job": "jobs", "schedule": "schedules", "bulk": "bulk", "alert": "alerts"}
)
"""The page that shows the subject of an event, by the event's noun."""
INTERFACE: Final = "/ui"
"""Where the interface is below the address of a server."""


def server_url(public_url: str) -> str:
    """Return the address of the server, whether `public_url` names the server or the interface below it."""
    return public_url.rstrip("/").removesuffix(INTERFACE)


def page_url(public_url: str, *path: str) -> str:
    """Return the address of a page of the interface."""
    return "/".join((server_url(public_url) + INTERFACE, *(quote(part, safe="") for part in path)))


def event_link(public_url: str | None, type_: str, subject: str) -> str | None:
    """Return the URL of the page about an event's subject, if there is one."""
    page = PAGES.get(type_.split(".")[1])
    return page_url(public_url, page, subject) if public_url and page else None
