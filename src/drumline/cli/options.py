"""Flags that several commands share, so that each means the same everywhere."""

from pathlib import Path
from typing import Annotated

from drumline.cli import completing
from drumline.cli.output import OutputFormat
from drumline.cli.parameters import Argument, Option

Json = Annotated[bool, Option("--json", help="Print one JSON document.")]
Jsonl = Annotated[bool, Option("--jsonl", help="Print one JSON object per line.")]
Output = Annotated[
    OutputFormat | None, Option("--output", "-o", help="json, jsonl, yaml, or name: only ids.", metavar="FORMAT")
]
Jq = Annotated[
    str | None,
    Option("--jq", help="What to print of the JSON, by a jq expression; needs the program jq.", metavar="EXPR"),
]
Web = Annotated[bool, Option("--web", help="Open it in the web interface instead.")]
Wide = Annotated[bool, Option("--wide", help="Show everything, however wide.")]
Fields = Annotated[str | None, Option("--fields", help="Only these fields, such as id,status.", metavar="NAMES")]
DryRun = Annotated[bool, Option("--dry-run", help="Change nothing; show what would be done.")]
Reason = Annotated[str | None, Option("--reason", help="Why, for the audit log.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]

Timeout = Annotated[
    float | None,
    Option(
        "--timeout",
        help="How long the server may take to answer. [default: 10, and 30 to change something]",
        min=0.1,
        metavar="SECONDS",
    ),
]
Url = Annotated[str | None, Option("--url", help="The server to talk to. [env: DRUMLINE_URL]", metavar="URL")]
Key = Annotated[str | None, Option("--api-key", help="The key to use. [env: DRUMLINE_API_KEY]", metavar="KEY")]

Config = Annotated[
    str | None,
    Option("--config", help="The settings file, or ssm:/path/. [env: DRUMLINE_CONFIG]", metavar="FILE"),
]
Data = Annotated[Path | None, Option("--data", help="The data folder. [env: DRUMLINE_DATA]", metavar="FOLDER")]
Host = Annotated[str | None, Option("--host", help="The address to listen on. [default: 127.0.0.1]", metavar="ADDRESS")]
Port = Annotated[int | None, Option("--port", help="The port to listen on, 0 for any. [default: 8080]", metavar="PORT")]
LogLevel = Annotated[
    str | None,
    Option(
        "--log-level",
        help="debug, info, warning or error. [default: info]",
        metavar="LEVEL",
        complete=completing.of("debug", "info", "warning", "error"),
    ),
]
Concurrency = Annotated[
    int | None, Option("--concurrency", "-c", help="How many tasks to run at once. [default: 64]", metavar="N")
]
Queues = Annotated[
    list[str] | None,
    Option("--queue", "-q", help="A queue to serve; may be repeated. [default: all]", metavar="NAME"),
]
Apps = Annotated[
    list[str] | None,
    Argument(help="Apps to serve: a file, a module or module:app.", metavar="APP", show_default=False),
]
TaskIds = Annotated[
    list[str],
    Argument(help="Ids of tasks.", metavar="ID", show_default=False, complete=completing.tasks, ids_of="tasks"),
]
JobIds = Annotated[
    list[str], Argument(help="Ids of jobs.", metavar="ID", show_default=False, complete=completing.jobs, ids_of="jobs")
]
JobId = Annotated[
    str, Argument(help="The job's id.", metavar="ID", show_default=False, complete=completing.jobs, ids_of="jobs")
]
TaskId = Annotated[
    str, Argument(help="The task's id.", metavar="ID", show_default=False, complete=completing.tasks, ids_of="tasks")
]
Limit = Annotated[int, Option("--limit", "-l", help="How many at most.", min=1, metavar="N")]
Tag = Annotated[str | None, Option("--tag", help="Only with this tag.", metavar="TAG")]
Statuses = Annotated[
    list[str] | None,
    Option("--status", "-s", help="Only this status; may be repeated.", metavar="STATUS", complete=completing.statuses),
]
GiveUp = Annotated[
    float | None, Option("--timeout", help="Give up after so many seconds, with status 7.", metavar="SECONDS")
]
Why = Annotated[str | None, Option("--reason", help="The reason, stored with it.")]
