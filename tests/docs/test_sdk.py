"""The reference of the SDK has every public name and every argument."""

import re
from pathlib import Path

import drumline
from drumline.sdk.options import DecoratorOptions, Options

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "sdk.md").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name() -> None:
    names = set(drumline.__all__) - {"__version__"}

    assert [name for name in sorted(names) if f"### `{name}`" not in PAGE and f"| `{name}` | `" not in PAGE] == []


def test_the_reference_has_every_argument_of_a_task_with_its_meaning() -> None:
    rows = dict(re.findall(r"^\| `(\w+): [^`]+` \| (.+) \|$", PAGE, re.MULTILINE))

    arguments = DecoratorOptions.__annotations__.keys() | Options.__annotations__.keys()
    assert {"rate_limit", "max_concurrent", "limit_by", "limit_key"} <= arguments
    assert [name for name in arguments if not rows.get(name)] == []
