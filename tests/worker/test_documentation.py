"""The reference page says what the code does."""

import re
from pathlib import Path
from typing import Any, cast

import pytest

from drumline.core.session import TaskType
from drumline.core.state import State
from drumline.outbound.mail import MailServer
from drumline.outbound.sms import SmsGateway
from drumline.worker.executors.catalogue import BuiltIn, assemble
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import Worker
from tests.worker.house import House, Shift, result_of

PAGE = (Path(__file__).parents[2] / "docs/reference/executors.md").read_text(encoding="utf-8")

ALL = BuiltIn(shell=True, smtp=MailServer(host="localhost"), sms=SmsGateway(provider="twilio"))
TYPES = assemble(WorkerOptions(), built_in=ALL).types


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_the_page_describes_every_field_of_every_built_in_task(kind: TaskType) -> None:
    section = PAGE.partition(f"## `{kind.name}`")[2].partition("\n## ")[0]
    described = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)

    assert kind.schema is not None
    properties = cast("dict[str, Any]", kind.schema["properties"])
    assert sorted(described) == sorted(properties)


async def test_the_executor_on_the_page_works(house: House) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    exec(source, names)
    settings = WorkerOptions(capacity=1)
    executors = assemble(settings, built_in=BuiltIn(http=False, pdf=False)).add(names["GreetExecutor"]())

    async with Shift.of(Worker(house.line, executors, settings)):
        view = await house.run("greet", {"whom": "Ada", "times": 2})
        refused = await house.run("greet", {"whom": 1})

    assert result_of(view) == ["Hello, Ada!"] * 2
    assert await house.log(view.id) == "greeting Ada\n"
    assert refused.state is State.FAILED
    assert refused.error is not None
    assert refused.error.message.startswith("payload.whom: ")


async def test_an_apps_own_task_wins_over_a_built_in_one(house: House) -> None:
    @house.app.task(name="http")
    async def http() -> str:
        return "mine"

    async with house.worker(BuiltIn(http=True, pdf=False)):
        view = await house.run("http")

    assert result_of(view) == "mine"


def test_two_apps_cannot_have_a_task_of_one_name(house: House) -> None:
    @house.app.task(name="twin")
    async def twin() -> None: ...

    with pytest.raises(ValueError, match="two executors for the task name 'twin'"):
        assemble(WorkerOptions(), [house.app, house.app])
