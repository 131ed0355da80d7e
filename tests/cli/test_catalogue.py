"""The list of commands says of each what the command says of itself, and importing it imports none of them."""

import json
import subprocess
import sys

import click

from drumline.cli.catalogue import SECTIONS
from drumline.cli.main import command

HELPS = {name: line for section in SECTIONS for name, line in section.helps.items()}


def test_the_help_of_a_command_begins_with_its_line_in_the_list() -> None:
    commands = command().all

    lines = {name: (each.help or "").splitlines()[0] for name, each in commands.items()}

    assert {name: (line, HELPS[name]) for name, line in lines.items() if line != HELPS[name]} == {}


def test_every_command_has_a_help_text_and_so_has_each_of_its_parameters() -> None:
    found: list[str] = []

    def look(path: str, one: click.Command) -> None:
        if not one.help:
            found.append(path)
        found.extend(f"{path} {each.name}" for each in one.params if not getattr(each, "help", None))
        for name, below in getattr(one, "all", {}).items():
            look(f"{path} {name}", below)

    look("drumline", command())

    assert found == []


def test_the_help_of_a_command_lists_each_argument_once() -> None:
    submit = command().all["submit"]

    text = submit.get_help(click.Context(submit, info_name="submit"))

    assert [line for line in text.splitlines() if line.lower().endswith("arguments:")] == ["Arguments:"]
    assert text.count("The task's name") == 1


def test_the_list_of_commands_imports_no_command_and_no_heavy_package() -> None:
    code = (
        "import json, sys; from drumline.cli.main import command\n"
        "command().main(['--help'], standalone_mode=False)\n"
        "print(json.dumps(list(sys.modules)), file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(json.loads(done.stderr))
    heavy = {"pydantic", "typer", "rich", "httpx", "asyncio", "yaml", "msgspec", "sqlite3"}
    assert loaded & (heavy | {"drumline.cli.tasks", "drumline.cli.servers", "drumline.engine"}) == set()


def test_a_command_that_is_called_without_a_required_argument_names_it() -> None:
    accepted: list[str] = []

    def look(path: str, one: click.Command) -> None:
        needed = [each for each in one.params if isinstance(each, click.Argument) and each.required]
        if needed and "Missing argument" not in _refusal(one):
            accepted.append(path)
        for name, below in getattr(one, "all", {}).items():
            look(f"{path} {name}", below)

    look("drumline", command())

    assert accepted == []


def _refusal(one: click.Command) -> str:
    """Return what a command says that is called with nothing."""
    try:
        one.make_context(one.name, [])
    except click.UsageError as error:
        return error.format_message()
    return "nothing"
