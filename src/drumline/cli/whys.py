"""Why a task is not running, on the command line."""

import typer

from drumline.cli.moments import relative
from drumline.cli.options import Json, Key, TaskId, Url
from drumline.cli.output import print_json


def why(id: TaskId, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Tell why a task is not running."""
    from drumline.cli.client import connect

    answer = connect(url, api_key).get(f"/tasks/{id}/why")
    if as_json:
        print_json(answer)
        return
    for reason in answer["reasons"]:
        until = relative(reason["until"])
        typer.echo(f"{reason['text'][:1].upper()}{reason['text'][1:]}{f' ({until})' if until else ''}.")
