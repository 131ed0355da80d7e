"""Documents: templates and data in, PDFs out, and nothing else read."""

import sys
from pathlib import Path
from typing import Any

import pytest

from drumline.core.state import State
from drumline.core.task import TaskView
from drumline.lifecycle.banner import Ready, banner
from drumline.worker.executors.catalogue import BuiltIn, assemble
from drumline.worker.executors.pdf import PdfLimits, built_in
from drumline.worker.options import WorkerOptions
from tests.worker.house import House, result_of

PDF = BuiltIn(http=False, pdf=True)


async def run(house: House, payload: Any, **options: Any) -> TaskView:
    async with house.worker(PDF):
        return await house.run("generate-pdf", payload, **options)


async def test_a_template_and_data_become_a_pdf_that_can_be_fetched(house: House) -> None:
    payload = {
        "template": '#let data = json("data.json")\nHello *#data.name*!',
        "data": {"name": "Ada"},
        "filename": "hello.pdf",
    }
    view = await run(house, payload)

    artifact = await house.engine.queries.artifact(view.id, "hello.pdf")
    assert artifact.content_type == "application/pdf"
    assert artifact.data.startswith(b"%PDF")
    assert result_of(view) == {"artifact": "hello.pdf", "size": len(artifact.data), "content_type": "application/pdf"}


@pytest.mark.parametrize(
    ("template", "data"),
    [
        ("invoice", {}),
        (
            "invoice",
            {
                "number": "2026-7",
                "seller": {"name": "Shop", "address": ["Street 1", "Town"]},
                "buyer": "Ada",
                "items": [{"text": "Tea", "quantity": 2, "price": 3.5}, {"text": "#set $x$ *", "price": -1}],
                "tax": 19,
            },
        ),
        ("letter", {"from": ["Ada"], "to": ["Bob"], "subject": "Hi", "paragraphs": ["One.", "Two."]}),
        ("letter", {"from": "Ada", "to": "Bob", "paragraphs": "One."}),
        ("invoice", {"seller": {"name": "Shop", "address": "Street 1"}}),
        ("report", {"title": "Sums", "sections": [{"heading": "A", "text": "b", "rows": [["x", 1], ["y", 2]]}]}),
    ],
)
async def test_the_built_in_templates_work(house: House, template: str, data: Any) -> None:
    view = await run(house, {"template": template, "data": data})

    assert result_of(view)["artifact"] == "document.pdf"


def test_there_are_built_in_templates() -> None:
    assert set(built_in()) == {"invoice", "letter", "report"}


@pytest.mark.parametrize(
    "template",
    [
        '#read("/etc/passwd")',
        '#read("../../../../../../etc/passwd")',
        '#include "/etc/hostname"',
        '#image("/../../../../etc/passwd")',
    ],
)
async def test_a_template_reads_nothing_outside_of_its_folder(house: House, template: str) -> None:
    view = await run(house, {"template": template})

    assert view.state is State.FAILED
    assert view.error is not None
    assert "root:" not in view.error.message
    assert await house.engine.queries.artifacts(view.id) == []


async def test_a_template_does_not_reach_the_network(house: House) -> None:
    view = await run(house, {"template": '#import "@preview/example:0.1.0": add'})

    assert view.state is State.FAILED
    assert view.error is not None
    assert "package" in view.error.message


async def test_a_template_that_does_not_compile_fails_for_good_and_says_where(house: House) -> None:
    view = await run(house, {"template": "#let x = \n#y"})

    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.message.startswith("payload.template: does not compile: ")


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({}, "payload.template"),
        ({"template": " "}, "payload.template"),
        ({"template": "invoce"}, "payload.template"),
        ({"template": "x", "filename": "../x.pdf"}, "payload.filename"),
        ({"template": "x", "oops": 1}, "payload.oops"),
    ],
)
async def test_a_payload_that_makes_no_sense_fails_for_good_naming_the_field(
    house: House, payload: Any, field: str
) -> None:
    view = await run(house, payload)

    assert view.error is not None
    assert view.error.message.startswith(field)


async def test_a_template_that_never_ends_is_killed_by_the_timeout(house: House) -> None:
    endless = "#for i in range(100000) { for j in range(100000) { let x = i * j } }"
    async with house.worker(PDF):
        view = await house.try_once("generate-pdf", {"template": endless}, timeout=1)

    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"


async def test_nothing_is_left_behind(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    await run(house, {"template": "Hello"})

    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240


async def test_a_worker_without_typst_does_not_offer_it_and_the_server_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)  # as where the extra is not installed

    names = tuple(each.name for each in assemble(WorkerOptions(), built_in=BuiltIn()).types)
    said = banner(Ready(url="http://here", key=None, key_file=tmp_path, store="SQLite", names=names))

    assert names == ("http", "map")
    assert "  Tasks  http, map\n         (generate-pdf needs: pip install 'drumline[pdf]')\n" in said


async def test_a_document_that_takes_too_long_or_too_much_memory_ends(house: House) -> None:
    slow = "#let x = 0\n#for i in range(100000) { for j in range(100000) { x = calc.rem(x * 31 + j, 97) } }\n#x"
    large = "#let a = range(1000)\n#for i in range(9000) { a = a + range(9000) }\n#a.len()"
    limits = BuiltIn(http=False, pdf=True, pdf_limits=PdfLimits(cpu=2, memory=512 * 1024**2))

    async with house.worker(limits):
        first = await house.run("generate-pdf", {"template": slow}, retries=0)
        second = await house.run("generate-pdf", {"template": large}, retries=0)

    assert (first.state, second.state) == (State.FAILED, State.FAILED)
    assert first.error is not None
    # On a busy machine the time by the clock is over first.
    assert "processor time" in first.error.message or "took more than" in first.error.message
