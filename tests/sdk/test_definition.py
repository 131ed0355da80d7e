import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drumline import Invalid, NotFound, Permanent, Retry
from drumline.sdk.definition import Defaults, Mode, Registry, define


@dataclass
class Sum:
    total: int


def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(a + b)


async def aadd(a: int, b: int) -> Sum:
    return Sum(a + b)


def test_a_task_is_named_by_module_and_function() -> None:
    assert define(add).name == f"{__name__}.add"
    assert define(add, name="Add two numbers").name == "Add two numbers"


def test_a_function_of_the_program_itself_is_named_as_a_worker_will_import_it(tmp_path: Path) -> None:
    program = tmp_path / "hello.py"
    program.write_text(
        "from drumline.sdk.definition import define\n\ndef add() -> None: ...\n\nprint(define(add).name)\n"
    )

    by_path = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    by_name = subprocess.run([sys.executable, "-m", "hello"], capture_output=True, text=True, check=True, cwd=tmp_path)

    assert by_path.stdout == by_name.stdout == "hello.add\n"


def test_async_functions_run_on_the_loop_and_others_in_threads_unless_told() -> None:
    assert define(aadd).mode is Mode.ASYNC
    assert define(add).mode is Mode.THREAD
    assert define(add, mode=Mode.PROCESS).mode is Mode.PROCESS


@pytest.mark.parametrize(("function", "mode"), [(add, Mode.ASYNC), (aadd, Mode.THREAD), (aadd, Mode.PROCESS)])
def test_a_mode_that_does_not_fit_the_function_is_refused(function: Any, mode: Mode) -> None:
    with pytest.raises(TypeError, match="cannot run in mode"):
        define(function, mode=mode)


def test_generators_are_refused() -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(TypeError, match="is a generator"):
        define(numbers)


def test_results_come_back_as_the_function_says() -> None:
    definition = define(aadd)

    assert definition.decode_result(definition.encode_result(Sum(5))) == Sum(5)


def test_results_that_are_not_json_or_not_of_the_type_are_told() -> None:
    with pytest.raises(Invalid) as unwritable:
        define(add).encode_result(object())
    with pytest.raises(Invalid) as unreadable:
        define(add).decode_result(b'{"total": "x"}')

    assert unwritable.value.field == "result"
    assert unreadable.value.field == "result.total"


@pytest.mark.parametrize(
    ("defaults", "error", "is_permanent"),
    [
        (Defaults(), ValueError(), False),
        (Defaults(), Permanent(), True),
        (Defaults(give_up_on=(LookupError,)), KeyError(), True),
        (Defaults(give_up_on=(LookupError,)), ValueError(), False),
        (Defaults(retry_on=(OSError,)), ConnectionError(), False),
        (Defaults(retry_on=(OSError,)), ValueError(), True),
        (Defaults(retry_on=(OSError,), give_up_on=(ConnectionError,)), ConnectionError(), True),
        (Defaults(retry_on=(OSError,), give_up_on=(Exception,)), Retry(), False),
    ],
)
def test_the_definition_tells_which_errors_are_worth_a_retry(
    defaults: Defaults, error: Exception, is_permanent: bool
) -> None:
    assert define(add, defaults=defaults).is_permanent(error) is is_permanent


def test_a_name_stands_for_one_function() -> None:
    registry = Registry()
    registry.add(define(add, name="sum"))
    registry.add(define(add, name="sum"))

    with pytest.raises(ValueError, match=r"'sum' is taken by .*\.add"):
        registry.add(define(aadd, name="sum"))


def test_a_registry_publishes_what_it_has() -> None:
    registry = Registry()
    registry.add(define(add, name="sum"))

    (published,) = registry.published()

    assert (published.name, published.doc) == ("sum", "Add two numbers.")
    assert published.schema == define(add, name="sum").schema()
    assert "sum" in registry
    assert registry.names == ("sum",)
    with pytest.raises(NotFound):
        registry.get("other")
