"""Commands in sentences of the documentation exist, with their options and arguments."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from click import UsageError

from drumline.cli.main import command as program
from drumline.cli.parameters import Group
from tests.docs.pages import ROOT, pages

PAGES = pages("*.md", "docs/*.md", "docs/*/*.md", "docs/how-to/runbooks/*.md")
LEFT_OUT = {"CHANGELOG.md", "cli.md"}
"""What tells of the past, and what is made from the commands themselves."""
PROGRAM: Any = program()


def inline_commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if page.name in LEFT_OUT or page.parent.name == "adr":
            continue
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for words in re.findall(r"`(drumline [^`]+)`", " ".join(text.split())):
            yield str(page.relative_to(ROOT)), words


COMMANDS = sorted(set(inline_commands()))


def fault_of(words: list[str]) -> str | None:
    """Return what is wrong with a command line, if anything is; its values may be placeholders."""
    command, context = PROGRAM, PROGRAM.context_class(PROGRAM, info_name="drumline")
    while words and isinstance(command, Group):
        found = command.all.get(words[0])
        if found is None:
            return f"there is no command {words[0]}"
        command, words = found, words[1:]
        context = command.context_class(command, info_name=command.name, parent=context)
    if isinstance(command, Group):
        return None  # a group is named as a whole
    try:
        given, rest, _ = command.make_parser(context).parse_args(args=list(words))
    except UsageError as error:
        return str(error.format_message())
    missing = [
        one.name
        for one in command.params
        if one.param_type_name == "argument" and one.required and not _is_given(given.get(one.name))
    ]
    is_example = any(word.startswith("-") for word in words)
    return f"needs {missing}" if missing and is_example else f"takes no {rest}" if rest else None


def _is_given(value: object) -> bool:
    return isinstance(value, str | tuple) and bool(value)


def test_every_command_in_a_sentence_exists() -> None:
    faults = [(page, text, fault_of(shlex.split(text.replace("'s", "s"))[1:])) for page, text in COMMANDS]

    assert [f"{page}: {text}: {fault}" for page, text, fault in faults if fault is not None] == []


def test_the_check_would_find_mistakes() -> None:
    assert fault_of(["keys", "create", "--role", "worker"]) == "needs ['name']"
    assert "No such option" in str(fault_of(["tasks", "list", "--stauts", "queued"]))
    assert fault_of(["task", "list"]) == "there is no command task"
    assert len(COMMANDS) > 100
