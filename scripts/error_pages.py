"""The pages about errors, one for each code, and their index."""

import sys

from drumline.api.problem_help import HELP, Help
from drumline.api.problems import PROBLEMS
from drumline.cli.errors import exit_code_of
from drumline.core.errors import DrumlineError
from drumline.core.problem import Problem

MADE = "<!-- Made by `make reference` from src/drumline/api/problem_help.py: change it there. -->"
INTRODUCTION = f"""\
# Errors

{MADE}

Every error of the API is a problem reply (RFC 9457, `application/problem+json`) with a stable `code`. Its `type` is the
address of a page of the server, `/errors/CODE`, with what is said here. In Python each is a `DrumlineError` with the
same `code`; the command line ends with the status in the last column.

| code | HTTP | meaning | command line |
|---|---|---|---|
"""


def error_pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    if PROBLEMS.keys() != HELP.keys():
        odd = ", ".join(sorted(PROBLEMS.keys() ^ HELP.keys()))
        sys.exit(f"src/drumline/api/problem_help.py explains every code of problems.py and no other: {odd}")
    rows = "".join(
        f"| [`{code}`]({code}.md) | {status} | {title} | `{exit_code_of(_error(code)).value}` |\n"
        for code, (status, title) in PROBLEMS.items()
    )
    return {"index": INTRODUCTION + rows} | {code: _page(code, HELP[code]) for code in PROBLEMS}


def _page(code: str, help_: Help) -> str:
    status, title = PROBLEMS[code]
    error = _error(code)
    cures = "\n".join(f"- {cure}" for cure in help_.cure)
    return f"""\
# `{code}`: {title}

{MADE}

HTTP status {status}. In Python: `{type(error).__name__}` with the code `{error.code}`.
Exit status of the command line: {exit_code_of(error).value}.

## Cause

{help_.cause}

## Example

{_example(code, help_)}
## What to do

{cures}

## Repeat it?

{help_.repeat}

[All errors](index.md)
"""


def _error(code: str) -> DrumlineError:
    """Return the error that clients make of a problem."""
    return Problem(status=PROBLEMS[code][0], code=code).error()


def _example(code: str, help_: Help) -> str:
    status, title = PROBLEMS[code]
    reply = f"""```json
{{"type": "/errors/{code}", "title": "{title}",
 "status": {status}, "code": "{code}", "detail": "…", "field": null}}
```
"""
    if not help_.example:
        return f"No single request brings it about. The reply:\n\n{reply}"
    prepare = f"<!-- prepare: {help_.prepare} -->\n" if help_.prepare else ""
    notes = f'{prepare}<!-- exits: 22 -->\n<!-- prints: "code":"{code}" -->\n'
    given = f"`$URL` is the address of the server, `$KEY` a key that may do everything. {help_.given}".rstrip()
    return f"{given}\n\n{notes}```sh\n{help_.example}\n```\n\nThe reply:\n\n{reply}"
