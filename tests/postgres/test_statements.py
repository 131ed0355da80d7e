import re
from pathlib import Path

import pytest

from drumline.core.priority import POINT_MS
from drumline.core.state import Act
from drumline.stores import parts, postgres
from drumline.stores.postgres.acts import NUMBER_OF, SUBMIT
from drumline.stores.postgres.statements import SQL, Statement, Statements
from drumline.stores.sql_files import named
from drumline.stores.statements import shared

FOLDER = Path(postgres.__file__).parent
PARTS = Path(parts.__file__).parent
CODE = "".join(path.read_text() for folder in (FOLDER, PARTS, PARTS.parent) for path in folder.glob("*.py"))
NAMES = sorted(SQL)


def test_every_statement_is_used() -> None:
    assert [name for name in NAMES if f'"{name}"' not in CODE] == []


def test_every_statement_begins_with_its_contract() -> None:
    texts = {**named("drumline.stores.postgres"), **shared("postgres")}

    assert [name for name, text in texts.items() if not text.startswith("-- ")] == []


def test_every_statement_that_code_asks_for_is_there() -> None:
    asked = set(re.findall(r'fetch\(\s*(?:Line\.\w+,\s*)?"(\w+)"', CODE))

    assert asked <= set(NAMES)
    assert len(asked) > 40


def test_parameters_are_numbered_by_name() -> None:
    statement = Statement("x", "-- takes :a and :b\nSELECT :b::int4 [], :a::text, :b, 'x'::text")

    assert statement.text == "/* drumline x */ SELECT $1::int4 [], $2::text, $1, 'x'::text"
    assert statement.arguments({"a": "one", "b": [2]}) == [[2], "one"]


def test_a_wrong_parameter_is_named() -> None:
    with pytest.raises(TypeError, match="b, c"):
        Statement("x", "SELECT :a, :b").arguments({"a": 1, "c": 2, "d": 3})


def test_a_statement_can_be_like_another_with_another_part() -> None:
    due, shared = SQL["claim_due"].text, SQL["claim_shared"].text

    assert shared.startswith("/* drumline claim_shared */ WITH clock AS MATERIALIZED (")
    assert "PARTITION BY f.tenant" in shared
    assert (
        due.split("share AS MATERIALIZED")[0].split("*/")[1] == shared.split("share AS MATERIALIZED")[0].split("*/")[1]
    )
    assert due.split("locked AS MATERIALIZED")[1].count("$") == shared.split("locked AS MATERIALIZED")[1].count("$")


def test_a_statement_can_have_a_part_of_another() -> None:
    found, locked = SQL["orphans"].text.split("*/ ")[1], SQL["lock_orphans"].text.split("*/ ")[1]

    part, _, rest = found.partition("\n)\n")
    assert part.startswith("WITH orphan AS MATERIALIZED (")
    assert locked.startswith(part)
    assert rest.strip() == "SELECT orphan.id FROM orphan"


def test_a_part_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"lock_orphans has 0 parts lost"):
        Statements({"lock_orphans": "SELECT 1", "x": "-- with the lost of lock_orphans\nSELECT 1"})


def test_every_claim_asks_the_same_of_a_lane() -> None:
    due, lone, hinted = (asked_of_a_lane(name) for name in ("claim_due", "claim_lone", "claim_hinted"))

    assert lone == due
    assert hinted.replace("$::bool = EXISTS", "NOT EXISTS") == due  # those who claim under limits say so


def asked_of_a_lane(name: str) -> str:
    (found,) = re.findall(r"lane\.name = any.*?f\.task, lane\.name\) = lane\.name\s+\)", SQL[name].text, re.DOTALL)
    return re.sub(r"\$\d+", "$", " ".join(found.split()))


def test_every_act_has_a_number_of_its_own() -> None:
    numbers = [SUBMIT, *NUMBER_OF.values()]

    assert set(NUMBER_OF) == set(Act)
    assert len(set(numbers)) == len(numbers)


def test_a_point_of_priority_is_worth_the_same_in_sql() -> None:
    found = re.findall(r"priority \* (\d+)", SQL["claim_due"].text)

    assert {int(number) for number in found} == {POINT_MS}
