"""Serves the documentation of the package to a browser on this machine, with nothing but the standard library."""

from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, urlsplit

from drumline.api.package_files import SAFE, SITE


class PageHandler(BaseHTTPRequestHandler):
    """Answers with files of the documentation, and with nothing else."""

    def do_GET(self) -> None:
        """Send a page."""
        path = unquote(urlsplit(self.path).path).removeprefix("/")
        name = SITE.page_name(path)
        found = SITE.find(name) if name is not None else None
        if found is None:
            self._reply(404, b"there is no such page", "text/plain; charset=utf-8")
        elif name == f"{path}/index.html":
            self._reply(307, b"", "text/plain", location=f"{path.rpartition('/')[2]}/")
        else:
            self._reply(200, found.plain, found.media.decode())

    do_HEAD = do_GET  # noqa: N815 - the name is the library's

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a person reads the terminal."""

    def _reply(self, status: int, body: bytes, media: str, *, location: str | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", media)
        self.send_header("content-length", str(len(body)))
        for header, value in SAFE:
            self.send_header(header.decode(), value.decode())
        if location is not None:
            self.send_header("location", location)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
