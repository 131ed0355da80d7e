"""The reference of the SDK has every public name and every argument."""

import re
from pathlib import Path

import drumline
from drumline import testing
from drumline.sdk.options import DecoratorOptions, Options

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = (REFERENCE / "sdk.md").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name() -> None:
    names = set(drumline.__all__) - {"__version__"}

    assert [name for name in sorted(names) if f"### `{name}`" not in PAGE and f"| `{name}` | `" not in PAGE] == []


def test_the_reference_has_every_argument_of_a_task_with_its_meaning() -> None:
    rows = dict(re.findall(r"^\| `(\w+): [^`]+` \| (.+) \|$", PAGE, re.MULTILINE))

    arguments = DecoratorOptions.__annotations__.keys() | Options.__annotations__.keys()
    assert {"rate_limit", "max_concurrent", "limit_by", "limit_key"} <= arguments
    assert [name for name in arguments if not rows.get(name)] == []


def test_the_reference_has_every_name_of_the_test_kit() -> None:
    page = (REFERENCE / "testing.md").read_text(encoding="utf-8")

    assert [name for name in testing.__all__ if f"### `{name}`" not in page] == []
