"""Documents: `generate-pdf`. A Typst template and data become a PDF, kept as the task's artifact."""

import asyncio
import json
import os
import signal
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from msgspec import Raw, Struct

from drumline.core.errors import Invalid
from drumline.core.json_errors import suggestion
from drumline.core.session import TaskType
from drumline.worker.executors.executor import ExecutorCall, check_artifact_name, published
from drumline.worker.executors.programs import (
    Output,
    Program,
    Tail,
    describe_exit,
    inherited_environment,
    private_folder,
    run_program,
)
from drumline.worker.executors.typesetting import DATA, DOCUMENT, REFUSED, TEMPLATE
from drumline.worker.failures import failure, refusal
from drumline.worker.watchdog import Watchdog

NAME: Final = "generate-pdf"
DOC: Final = """Make a PDF from a Typst template and data.

`template` is Typst source or the name of a built-in template (`invoice`, `letter`, `report`). The template reads the
data with `json("data.json")`; it can read nothing else, and no network. The PDF is the task's artifact `filename`.
"""
TEMPLATES: Final = Path(__file__).with_name("templates")
LONGEST_TEMPLATE: Final = 512 * 1024
KEPT_ERROR: Final = 8 * 1024
LARGEST_DOCUMENT: Final = 64 * 1024**2
WALL: Final = 3
"""A document may take so many times its processor time, waiting for a processor included."""


class PdfLimits(Struct, frozen=True):
    """What one document may cost: seconds of processor time and bytes of memory."""

    cpu: int = 30
    memory: int = 1024**3


DEFAULT_PDF_LIMITS: Final = PdfLimits()


def is_installed() -> bool:
    """Tell whether the packages of the extra `pdf` are installed."""
    return find_spec("typst") is not None


class PdfPayload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a `generate-pdf` task is given."""

    template: str
    data: Raw = Raw(b"{}")
    filename: str = "document.pdf"


class _PdfSchema(PdfPayload, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The payload as it is published: data of any kind where it is kept as it came."""

    data: Any = {}


class PdfExecutor:
    """Sets documents in a child process of their own, which sees one private folder and can be killed."""

    def __init__(self, watchdog: Watchdog, limits: PdfLimits = DEFAULT_PDF_LIMITS) -> None:
        self._watchdog = watchdog
        self._limits = limits
        # Each may use all the memory that one is allowed.
        self._at_once = asyncio.Semaphore(max(os.cpu_count() or 1, 2))
        self.type: TaskType = published(NAME, _PdfSchema, doc=DOC)

    async def execute(self, call: ExecutorCall) -> Any:
        """Set the document and keep it; a template that does not compile is a permanent failure."""
        payload = call.payload_as(PdfPayload)
        try:
            filename = check_artifact_name(payload.filename, field="payload.filename")
            source = source_of(payload.template)
        except Invalid as error:
            raise refusal(error) from error
        async with private_folder("drumline-pdf-") as folder:
            folder.joinpath(TEMPLATE).write_text(source, encoding="utf-8")
            folder.joinpath(DATA).write_bytes(bytes(payload.data))
            async with self._at_once:
                await self._typeset(folder, call)
            document = folder.joinpath(DOCUMENT).read_bytes()
        try:
            call.put_artifact(filename, document, "application/pdf")
        except Invalid as error:
            raise refusal(error) from error
        return {"artifact": filename, "size": len(document), "content_type": "application/pdf"}

    async def _typeset(self, folder: Path, call: ExecutorCall) -> None:
        errors = Tail(KEPT_ERROR)
        bounds = (self._limits.cpu, self._limits.memory, LARGEST_DOCUMENT)
        program = Program(
            argv=(sys.executable, "-I", "-m", "drumline.worker.executors.typesetting", *map(str, bounds)),
            cwd=folder,
            env=inherited_environment(),
        )
        try:
            async with asyncio.timeout(WALL * self._limits.cpu):
                code = await run_program(
                    program,
                    out=Output(call.log.write),
                    err=Output(call.log.write, errors),
                    grace=lambda: 0.0,  # there is nothing to tidy up
                    watchdog=self._watchdog,
                )
        except TimeoutError as error:
            raise failure("TypesettingFailed", f"took more than {WALL * self._limits.cpu} seconds") from error
        if code == REFUSED:
            raise refusal(Invalid(f"does not compile: {errors.text.strip()}", field="payload.template"))
        if code in {-signal.SIGXCPU, -signal.SIGKILL}:
            used = f"used more than {self._limits.cpu} seconds of processor time, or was killed for its memory"
            raise failure("TypesettingFailed", used, permanent=True)
        if code != 0:
            raise failure("TypesettingFailed", f"{describe_exit(code)}\n{errors.text}".rstrip())


@cache
def built_in() -> dict[str, str]:
    """Return the built-in templates by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.glob("*.typ"))}


def source_of(template: str) -> str:
    """Return the Typst source of a template: a built-in one by its name, any other as it is."""
    if len(template) > LONGEST_TEMPLATE:
        raise Invalid(f"must be at most {LONGEST_TEMPLATE:,} characters", field="payload.template")
    if not template.strip():
        raise Invalid(f"must be Typst source, or one of {json.dumps(list(built_in()))}", field="payload.template")
    name = template.strip()
    hint = suggestion(name, built_in()) if name not in built_in() and name.isalpha() else ""
    if hint:
        raise Invalid(f"there is no template {name}{hint}", field="payload.template")
    return built_in().get(name, template)
