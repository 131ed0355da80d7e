"""`manage.py drumline_worker`: runs a worker with the tasks of this project."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from drumline.cli.servers import worker
from drumline.contrib.django.backend import DrumlineBackend
from drumline.contrib.django.framework import backends
from drumline.core.errors import DrumlineError


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    """Runs a worker until it is stopped."""

    help = "Run a worker of Drumline with the tasks of this project."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what `drumline worker` takes, too."""
        parser.add_argument("--backend", default="default", help="The alias of the backend in TASKS.")
        parser.add_argument("--queue", action="append", dest="queues", help="A queue to serve; may be repeated.")
        parser.add_argument("--concurrency", type=int, help="How many tasks to run at once.")
        parser.add_argument("--log-level", dest="log_level", help="debug, info, warning or error.")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the worker."""
        alias = options["backend"]
        backend = backends()[alias]
        if not isinstance(backend, DrumlineBackend):
            raise CommandError(f"TASKS[{alias!r}] is not a backend of Drumline")
        known = backends()
        others = [name for name in known.settings if name != alias and isinstance(known[name], DrumlineBackend)]
        if others:
            self.stderr.write(
                f"This worker runs the tasks of TASKS[{alias!r}]; "
                f"start others for: {', '.join(f'--backend {name}' for name in others)}"
            )
        data = backend.options.get("data")
        try:
            worker(
                apps=[f"drumline.contrib.django.served:{alias}"],
                url=backend.options.get("url"),
                api_key=backend.options.get("api_key"),
                data=None if data is None else Path(data),
                concurrency=options["concurrency"],
                queues=options["queues"],
                log_level=options["log_level"],
            )
        except DrumlineError as error:
            raise CommandError(str(error)) from error
