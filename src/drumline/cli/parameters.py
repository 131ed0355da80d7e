"""Commands from annotated functions, on click: a flag or an argument is declared in the type of its parameter.

    def get(id: Annotated[str, Argument(help="The task's id.")], wide: Annotated[bool, Option("--wide")] = False):

The modules of commands are imported when their command is called or its help is shown, so that each starts quickly
(docs/adr/0061-click.md).
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from drumline.cli.invocation import flags_after, invocation

Complete = Callable[[click.Context, str], Sequence[str | tuple[str, str]]]
"""Returns the values that a shell may complete what was typed so far to, with or without what each is."""

_TYPES: Final[dict[type, click.ParamType[Any]]] = {
    str: click.STRING,
    int: click.INT,
    float: click.FLOAT,
    Path: click.Path(path_type=Path),
}
_SYNONYMS: Final = (
    frozenset({"list", "ls", "all"}),
    frozenset({"get", "show", "describe", "info", "inspect"}),
    frozenset({"create", "add", "new", "set", "save"}),
    frozenset({"edit", "change", "update", "modify", "patch"}),
    frozenset({"delete", "rm", "remove", "forget", "del", "revoke"}),
    frozenset({"cancel", "abort", "stop", "kill"}),
    frozenset({"pause", "disable", "stop"}),
    frozenset({"resume", "enable", "start", "unpause"}),
    frozenset({"submit", "enqueue", "run", "push"}),
)
"""Words that people try for one another, among them names of commands."""
_RANGES: Final[dict[type, Any]] = {int: click.IntRange, float: click.FloatRange}


class Option:
    """A flag, or an option with a value; several flags mean the same."""

    def __init__(
        self,
        *flags: str,
        help: str = "",
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        show_default: bool = True,
        complete: Complete | None = None,
    ) -> None:
        self.flags = flags
        self.help = help
        self.metavar = metavar
        self.range = None if min is None and max is None else {"min": min, "max": max}
        self.show_default = show_default
        self.complete = complete


class Argument:
    """A word, or the rest of the words if its type is a list."""

    def __init__(
        self,
        *,
        help: str = "",
        metavar: str | None = None,
        show_default: bool = True,
        complete: Complete | None = None,
        ids_of: str | None = None,
    ) -> None:
        self.ids_of = ids_of
        """What it has the ids of, which may be shortened: `tasks`, `keys`, or `tasks jobs`."""
        self.help = help
        self.metavar = metavar
        self.show_default = show_default
        self.complete = complete


class _Kind(NamedTuple):
    """The type of a parameter, taken apart."""

    of: type
    is_list: bool
    is_optional: bool


class _ArgumentWithHelp(click.Argument):
    """An argument that has a line in the help of its command."""

    def __init__(self, *declarations: Any, help: str, show_default: bool, **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.help = help
        self.show_default = show_default

    def make_metavar(self, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Return how it is called in the help: in brackets if it may be left out, with dots if it may be repeated."""
        name = self.metavar or (self.name or "").upper()
        if name.startswith("[") or name.endswith("..."):
            return name
        return f"{name if self.required else f'[{name}]'}{'...' if self.nargs == -1 else ''}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        extra = "  [required]" if self.required else ""
        if self.show_default and not self.required and self.default is not None:
            extra = f"  [default: {self.default}]"
        return self.make_metavar(ctx), f"{self.help}{extra}"


class _Command(click.Command):
    """A command whose help has its arguments first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                records["Arguments" if isinstance(parameter, click.Argument) else "Options"].append(record)
        for title, lines in records.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Do nothing: click writes arguments by themselves since 8.5, and they are above the options already."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        from drumline.cli.examples import examples_of

        _write_examples(examples_of(_path_of(ctx)), formatter)


def _path_of(context: click.Context) -> list[str]:
    """Return the words of a command after the name of the program."""
    words: list[str] = []
    while context.parent is not None:
        words.insert(0, context.info_name or "")
        context = context.parent
    return words


def _write_examples(lines: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write commands as they are: one that is wrapped could not be copied."""
    if lines:
        with formatter.section("Examples"):
            for line in lines:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class _Choice(click.Choice[str]):
    """The values of an enumeration."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__([str(member.value) for member in kind])
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, self._kind) else self._kind(super().convert(value, param, ctx))


def _same_meaning(name: str, known: Sequence[str]) -> list[str]:
    """Return the commands that do what other programs call by this name."""
    meant = frozenset[str]().union(*(words for words in _SYNONYMS if name in words))
    return [each for each in known if each in meant]


class Section(NamedTuple):
    """A heading in the help of a group, and the commands below it."""

    title: str
    commands: Mapping[str, str]
    """The place of each command, `module:attribute`."""
    helps: Mapping[str, str]
    """The first lines of their help texts, so that a list of commands imports none of them."""


class Group(click.Group):
    """Commands by name: functions, other groups, or places to import them from."""

    def __init__(self, help: str = "", *, name: str | None = None, sections: Sequence[Section] = ()) -> None:
        super().__init__(name=name, help=help, no_args_is_help=True)
        self._functions: dict[str, Callable[..., Any]] = {}
        self._sections = sections
        self._places = {name: place for section in sections for name, place in section.commands.items()}

    def add(self, name: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Make a function a command, which is built when it is needed."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            own_name: str = function.__name__
            self._functions[name or own_name.replace("_", "-")] = function
            return function

        return decorate

    @property
    def all(self) -> dict[str, click.Command]:
        """Every command, built."""
        return {name: command for name in self._names() if (command := self._built(name)) is not None}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return list(self._names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Return a command, importing it if needed; None if there is none of this name."""
        return self._built(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; a name that does not exist is answered with the nearest one."""
        name = args[0]
        if self._built(name) is None and not name.startswith("-"):
            near = _same_meaning(name, list(self._names())) or get_close_matches(name, list(self._names()), n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{name}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the list of commands, by section if there are sections."""
        if not self._sections:
            helps = [(name, (command.help or "").splitlines()[0]) for name, command in self.all.items()]
            with formatter.section("Commands"):
                formatter.write_dl(helps)
            return
        width = max(map(len, self._places))
        for section in self._sections:
            with formatter.section(section.title):
                formatter.write_dl([(name.ljust(width), section.helps[name]) for name in section.commands])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write some examples."""
        from drumline.cli.examples import examples_of_group

        _write_examples(examples_of_group(_path_of(ctx)), formatter)

    def _names(self) -> Iterator[str]:
        yield from self._places
        yield from self._functions

    def _built(self, name: str) -> click.Command | None:
        command = self.commands.get(name)
        if command is None and (function := self._function(name)) is not None:
            command = function if isinstance(function, click.Command) else command_of(function, name)
            command.name = name
            self.commands[name] = command
        return command

    def _function(self, name: str) -> Any:
        place = self._places.get(name)
        if place is None:
            return self._functions.get(name)
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)


def command_of(function: Callable[..., Any], name: str | None = None) -> click.Command:
    """Return the command that calls a function with what was given."""
    parameters = list(inspect.signature(function).parameters.values())
    kinds = {parameter.name: _kind_of(get_args(parameter.annotation)[0]) for parameter in parameters}
    formats = _formats_beside(parameters)

    def call(**given: Any) -> None:
        if formats:
            _choose_format(given, kinds)
        function(**{name: _as_declared(value, kinds[name]) for name, value in given.items()})

    place = max((place for place, each in enumerate(parameters, 1) if each.name in _JSON_FLAGS), default=0)
    own = [_parameter(each) for each in [*parameters[:place], *formats, *parameters[place:]]]
    return _Command(name, callback=call, params=[*own, *flags_after(own)], help=inspect.getdoc(function))


_JSON_FLAGS: Final = ("as_json", "as_jsonl")


def _formats_beside(parameters: Sequence[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return `--output` and `--jq` for a command that prints by itself and has `--json` but not these."""
    names = {parameter.name for parameter in parameters}
    if "as_json" not in names or "output" in names:
        return []
    from drumline.cli.options import Jq, Output

    added = {"output": Output, "jq": Jq}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in added.items()
    ]


def _choose_format(given: dict[str, Any], kinds: Mapping[str, _Kind]) -> None:
    """Take `--output` and `--jq` out of what was given, and let the command print JSON in that format."""
    from drumline.cli.output import Form, OutputFormat

    form = Form(output=given.pop("output"), jq=given.pop("jq"))
    if not form.is_chosen:
        return
    is_lines = form.output is OutputFormat.JSONL and form.jq is None and "as_jsonl" in kinds
    given["as_jsonl" if is_lines else "as_json"] = True
    if not is_lines:
        invocation().form = form


def _as_declared(value: Any, kind: _Kind) -> Any:
    if not kind.is_list:
        return value
    return None if kind.is_optional and not value else list(value or ())


def _kind_of(annotation: Any) -> _Kind:
    options = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    (kind,) = [option for option in options if option is not NoneType]
    is_list = get_origin(kind) is list
    return _Kind(get_args(kind)[0] if is_list else kind, is_list, NoneType in options)


def _parameter(parameter: inspect.Parameter) -> click.Parameter:
    annotation, declared = get_args(parameter.annotation)
    kind = _kind_of(annotation)
    required = parameter.default is inspect.Parameter.empty
    shared: dict[str, Any] = {
        # None would be a default like any other, and what has one is not missed.
        **({} if required else {"default": parameter.default}),
        "required": required,
        "metavar": declared.metavar,
        "shell_complete": _completer(declared.complete),
    }
    if isinstance(declared, Argument):
        nargs = -1 if kind.is_list else 1
        return _ArgumentWithHelp(
            [parameter.name],
            help=declared.help,
            show_default=declared.show_default,
            type=_type_of(kind.of, None),
            nargs=nargs,
            **shared,
        )
    if kind.of is bool:
        return click.Option(
            [parameter.name, *declared.flags], help=declared.help, is_flag=True, default=parameter.default
        )
    return click.Option(
        [parameter.name, *declared.flags],
        help=declared.help,
        type=_type_of(kind.of, declared.range),
        multiple=kind.is_list,
        show_default=declared.show_default,
        **shared,
    )


def _type_of(kind: type, limits: Mapping[str, float | None] | None) -> click.ParamType[Any]:
    if issubclass(kind, Enum):
        return _Choice(kind)
    return _TYPES[kind] if limits is None else _RANGES[kind](**limits)


def _completer(complete: Complete | None) -> Any:
    if complete is None:
        return None

    def items(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [value if isinstance(value, tuple) else (value, None) for value in complete(ctx, incomplete)]
        return [CompletionItem(value, help=what) for value, what in found if value.startswith(incomplete)]

    return items
