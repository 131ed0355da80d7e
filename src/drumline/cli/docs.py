"""`drumline docs`: the documentation of this version, without a server and without the Internet."""

from typing import TYPE_CHECKING, Annotated

import click

from drumline.cli.output import say
from drumline.cli.parameters import Argument, Option
from drumline.core.errors import Conflict, NotFound

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer


def docs(
    page: Annotated[str, Argument(help="The page to show, such as how-to/jobs or errors/fenced.")] = "",
    text: Annotated[bool, Option("--text", help="Print the page as Markdown and end.")] = False,
    port: Annotated[int, Option("--port", help="The port of the pages, 0 for any.", min=0, max=65535)] = 0,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Show the documentation in a browser; it is part of the package.

    The pages are served to this machine only, until Ctrl-C. A server serves the same ones at /docs/.
    """
    from drumline.api.package_files import SITE

    if not SITE.names:
        raise NotFound("the documentation has not been built: run `make docs` in the source tree")
    path = page.strip("/").removesuffix(".md")
    if text:
        click.echo(_markdown(path), nl=False)
        return
    if SITE.page_name(path) is None:
        raise _missing(path)
    _serve(_server(port), f"{path}/" if path else "", browser=browser)


def _markdown(path: str) -> str:
    from drumline.api.package_files import SITE

    for name in (path, f"{path}.md", f"{path}/index.md".lstrip("/")):
        if (found := SITE.find(name)) is not None:
            return found.plain.decode()
    raise _missing(path)


def _missing(path: str) -> NotFound:
    return NotFound(f"there is no page {path}; `drumline docs llms.txt --text` lists all", field="page")


def _server(port: int) -> "ThreadingHTTPServer":
    from http.server import ThreadingHTTPServer

    from drumline.cli.docs_server import PageHandler

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), PageHandler)
    except OSError as error:
        raise Conflict(f"port {port} cannot be opened: {error.strerror}", field="port") from error


def _serve(server: "ThreadingHTTPServer", path: str, *, browser: bool) -> None:
    import webbrowser

    with server:
        address = f"http://127.0.0.1:{server.server_address[1]}/{path}"
        say(f"The documentation is at {address} until Ctrl-C.")
        if browser:
            webbrowser.open(address)
        server.serve_forever()
