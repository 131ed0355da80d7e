"""Commands that talk to a server: their client, shared flags, `--json` and lists are bound here, once.

A command is a function that takes a client and its own flags, and returns what the server answered:

    @server_command(app, show=print_key)
    def get(client: "ApiClient", id: Id) -> Any:
        return client.get(f"/keys/{id}")

It gets `--json`, `--timeout`, `--url` and `--api-key`; `main.py` turns errors into messages and exit statuses.
"""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, dataclass_transform
from urllib.parse import quote

import click

from drumline.cli.errors import ExitCode, exit_code_of
from drumline.cli.options import Fields, Jq, Json, Jsonl, Key, Output, Reason, Timeout, Url, Web, Wide
from drumline.cli.output import Form, OutputFormat, open_page, print_json, print_list, print_object, say
from drumline.cli.parameters import Argument, Group
from drumline.cli.short_ids import resolved
from drumline.cli.tables import Column
from drumline.cli.terminal import is_terminal
from drumline.core.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

Command = Callable[..., None]
Show = Callable[[Any], object]
F = TypeVar("F", bound="Flags")

_REASON: Final = {"reason": Reason}
_FORMATS: Final = {"output": Output, "jq": Jq}
_OBJECT: Final = {"as_json": Json, **_FORMATS}
_PICKED: Final = {"as_json": Json, **_FORMATS, "fields": Fields}
_LIST: Final = {"as_json": Json, "as_jsonl": Jsonl, **_FORMATS, "fields": Fields, "wide": Wide}
_SERVER: Final = {"timeout": Timeout, "url": Url, "api_key": Key}
_FLAGS: Final = frozenset({"as_json", "as_jsonl", "web", "wide"})
"""Flags that are off by default; the others have no value."""


def group(help: str) -> Group:
    """Return an empty group of commands."""
    return Group(help)


class Flags:
    """Flags that several commands share: a parameter of a subclass becomes one flag per field."""


@dataclass_transform(frozen_default=True)
def flags(kind: type[F]) -> type[F]:
    """Turn a subclass of `Flags` into what holds the values of its flags."""
    return dataclasses.dataclass(frozen=True)(kind)


def server_command(
    app: Group | None = None,
    name: str | None = None,
    *,
    show: Show | None = None,
    describe: "Callable[[ApiClient, Any], None] | None" = None,
    fields: bool = False,
    reason: bool = False,
    page: Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command of `app`: its first parameter is the client, what it returns is printed.

    `show` prints the answer for people, and so does `describe`, which may ask the server for more; either adds
    `--json`, and `fields` adds `--fields`. Without them the function prints by itself. `reason` adds `--reason`, which
    is sent along for the audit log; `page`, which returns the path of an answer in the web interface, adds `--web`.
    """
    added: dict[str, Any] = _REASON if reason else {}
    if show or describe:
        added = added | (_PICKED if fields else _OBJECT) | ({} if page is None else {"web": Web})

    def finish(client: "ApiClient", answer: Any, given: Mapping[str, Any]) -> None:
        form = _form(given)
        if page is not None and given.get("web"):
            url = open_page(client.url, page(answer))
            if url is not None:
                click.echo(url)
        elif form.is_chosen:
            print_object(answer, form)
        elif describe is not None:
            describe(client, answer)
        elif show is not None:
            show(answer)

    return _bound(app, name, added, finish if show or describe else lambda *_: None)


def list_command(
    app: Group | None,
    name: str,
    columns: Iterable[Column],
    *,
    empty: str,
    unmatched: str | None = None,
    more: str | None = None,
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function that returns items a command of `app`, which prints them as a table, JSON or JSON lines.

    On a terminal `empty` is printed when there are none, `unmatched` when filters were given, `more` when there are as
    many as `--limit` allows.
    """
    columns = tuple(columns)

    def finish(_client: "ApiClient", items: Iterable[dict[str, Any]], given: Mapping[str, Any]) -> None:
        form = _form(given)
        filters = given.keys() - _LIST.keys() - _SERVER.keys() - {"limit"}
        is_filtered = unmatched is not None and any(given[name] for name in filters)
        count = print_list(items, columns, form, nothing=unmatched if is_filtered and unmatched else empty)
        if more is not None and count == given["limit"] and is_terminal():
            say(more.format(count=count, ten_times=count * 10))

    return _bound(app, name, _LIST, finish)


def _bound(
    app: Group | None,
    name: str | None,
    added: Mapping[str, Any],
    finish: "Callable[[ApiClient, Any, Mapping[str, Any]], None]",
) -> Callable[[Callable[..., Any]], Command]:
    def decorate(function: Callable[..., Any]) -> Command:
        own = list(inspect.signature(function).parameters.values())[1:]
        expanded = [flag for parameter in own for flag in _expanded(parameter)]
        names = {parameter.name for parameter in expanded}
        shared = [_flag(name, kind) for name, kind in {**added, **_SERVER}.items() if name not in names]
        has_own_timeout = "timeout" in names  # how long to watch, for example

        @wraps(function)
        def command(**given: Any) -> None:
            from drumline.cli.client import connect

            client = connect(
                given["url"],
                given["api_key"],
                reason=given["reason"] if "reason" in added else None,
                timeout=None if has_own_timeout else given["timeout"],
                is_confirmed=bool(given.get("yes")),
            )
            for parameter in own:
                noun = _ids_of(parameter)
                if noun is not None:
                    given[parameter.name] = resolved(client, noun, given[parameter.name])
            finish(client, function(client, **{parameter.name: _value(parameter, given) for parameter in own}), given)

        del command.__wrapped__  # Typer would read its signature
        parameters = [*expanded, *shared]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command if app is None else app.add(name)(command)

    return decorate


def _ids_of(parameter: inspect.Parameter) -> str | None:
    """Return what a parameter has the ids of, if they may be shortened."""
    declared = getattr(parameter.annotation, "__metadata__", (None,))[0]
    return declared.ids_of if isinstance(declared, Argument) else None


def _form(given: Mapping[str, Any]) -> Form:
    """Return the output format that flags ask for."""
    output = OutputFormat.JSON if given.get("as_json") else OutputFormat.JSONL if given.get("as_jsonl") else None
    return Form(
        output=given.get("output") or output,
        wide=bool(given.get("wide")),
        fields=given.get("fields"),
        jq=given.get("jq"),
    )


def _flag(name: str, kind: Any, default: Any = None) -> inspect.Parameter:
    default = False if name in _FLAGS else default
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)


def _is_flags(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Flags)


def _expanded(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    if not _is_flags(parameter):
        return [parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    return [_flag(field.name, field.type, field.default) for field in dataclasses.fields(parameter.annotation)]


def _value(parameter: inspect.Parameter, given: Mapping[str, Any]) -> Any:
    if not _is_flags(parameter):
        return given[parameter.name]
    return parameter.annotation(**{field.name: given[field.name] for field in dataclasses.fields(parameter.annotation)})


def do_each(
    ids: list[str], act: Callable[[str], dict[str, Any]], show: Callable[[list[dict[str, Any]]], None], *, as_json: bool
) -> None:
    """Call `act` for each id; an id that is refused is reported, and the others go on."""
    done, code = [], ExitCode.OK
    for one in ids:
        try:
            done.append(act(one))
        except (Conflict, Invalid, NotFound) as error:
            if len(ids) == 1:
                raise
            say(f"{one}: {error}")
            code = code or exit_code_of(error)
    print_json(done) if as_json else show(done)
    if code:
        raise click.exceptions.Exit(code)


def checked_status(text: str, statuses: tuple[str, ...]) -> str:
    """Return a status as the API writes it, or raise `Invalid` with the nearest one."""
    from drumline.core.json_errors import suggestion

    status = text.upper()
    if status not in statuses:
        hint = suggestion(status, statuses) or f"; it is one of {', '.join(statuses)}"
        raise Invalid(f"there is no status {text}{hint}")
    return status


def segment(text: str) -> str:
    """Return a text as one segment of a path."""
    return quote(text, safe="")
