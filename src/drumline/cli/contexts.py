"""Commands about contexts: the servers that a person works with, by name."""

import sys
from typing import Annotated, Any
from urllib.parse import urlsplit

import click

from drumline.cli.commands import group
from drumline.cli.context_store import NO_CONTEXT, ContextStore, check_name
from drumline.cli.options import Json, Wide
from drumline.cli.output import Form, print_json, print_list, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.streams import stdin_is_terminal
from drumline.cli.tables import Column
from drumline.core.errors import Invalid

app = group("Choose the server that commands talk to.")

COLUMNS = (
    Column("CURRENT", lambda context: "*" if context["current"] else "", rank=9),
    Column("NAME", "name", rank=9, least=8),
    Column("URL", "url", rank=8, least=16),
    Column("PRODUCTION", lambda context: "asks first" if context["production"] else "", rank=7),
    Column("KEY", "key", rank=6),
)


def known_names(_context: click.Context, _text: str) -> list[str]:
    """Return what a shell may complete the name of a context to."""
    return [*ContextStore.of_user().names, NO_CONTEXT]


Name = Annotated[str, Argument(help="The context's name.", metavar="NAME", show_default=False, complete=known_names)]


def login(
    url: Annotated[str, Argument(help="The server's address, such as https://drumline.example.com.", metavar="URL")],
    name: Annotated[
        str | None, Option("--name", "-n", help="The context's name. [default: the server's host]", metavar="NAME")
    ] = None,
    production: Annotated[
        bool, Option("--production", help="Ask before every command that changes something there.")
    ] = False,
    api_key: Annotated[
        str | None, Option("--api-key", help="The key; asked for, or read from a pipe, if not given.", metavar="KEY")
    ] = None,
) -> None:
    """Log in to a server: check a key there, and keep both as the current context.

    The key is kept in the system's keyring if the package keyring is installed, otherwise in a file that only you can
    read.
    """
    from drumline.cli.client import ApiClient

    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Invalid("has to begin with http:// or https:// and name a host", field="URL")
    chosen = name or parts.hostname
    check_name(chosen)
    key = api_key or _asked_key()
    me = ApiClient(url, key, key_source="the one just given").get("/me")
    store = ContextStore.of_user()
    context = store.put(chosen, url.rstrip("/"), key, is_production=production)
    say(f"Logged in to {url} as {me['name']}, {me['role']} of {me['tenant']}.")
    where = "the system's keyring" if context.in_keyring else "your configuration file"
    say(f"Commands use the context {chosen} now; its key is in {where}.")


def _asked_key() -> str:
    if stdin_is_terminal():
        return str(click.prompt("API key", hide_input=True, err=True)).strip()
    return sys.stdin.readline().strip() or _no_key()


def _no_key() -> str:
    raise Invalid("no key was given: write it to standard input, or use --api-key", field="--api-key")


@app.add("list")
def list_contexts(as_json: Json = False, wide: Wide = False) -> None:
    """List the contexts; keys are not shown."""
    store = ContextStore.of_user()
    items = [_shown(store, name) for name in store.names]
    print_list(items, COLUMNS, Form.of(as_json=as_json, wide=wide), nothing="No context yet: drumline login URL")


@app.add()
def show(as_json: Json = False) -> None:
    """Show the current context."""
    store = ContextStore.of_user()
    if store.current is None:
        say("No context is chosen: the server is found by DRUMLINE_URL or the data folder.")
        if as_json:
            print_json(None)
        return
    shown = _shown(store, store.current)
    if as_json:
        print_json(shown)
    else:
        click.echo(f"{shown['name']}  {shown['url']}{'  production' if shown['production'] else ''}")


@app.add()
def use(name: Name) -> None:
    """Choose the context that commands use; local chooses none."""
    ContextStore.of_user().use(name)
    say(f"Commands use {'no context' if name == NO_CONTEXT else f'the context {name}'} now.")


@app.add()
def remove(name: Name) -> None:
    """Delete a context and its key from this machine; the key stays valid."""
    ContextStore.of_user().remove(name)
    say(f"The context {name} is deleted here; revoke its key with drumline keys revoke.")


def _shown(store: ContextStore, name: str) -> dict[str, Any]:
    context = store.get(name)
    return {
        "name": name,
        "url": context.url,
        "production": context.is_production,
        "current": name == store.current,
        "key": "keyring" if context.in_keyring else "file",
    }
