"""Fuzzes one test, guided by coverage: `python -m tests.fuzz.atheris_run tests/fuzz/test_ids.py::test_… SECONDS`.

Atheris writes the bytes, and Hypothesis reads the arguments of the test from them. Inputs that reached new code are
kept in `build/fuzz`, so that the next run begins where this one ended.
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

CORPUS: Final = Path("build/fuzz")
LONGEST_INPUT: Final = 8192


def fuzz_tests() -> list[str]:
    """Return the ids of the fuzz tests that Hypothesis runs, as pytest writes them."""
    return sorted(_named_tests())


def _named_tests() -> Iterator[str]:
    for file in Path(__file__).parent.glob("test_*.py"):
        module = importlib.import_module(f"tests.fuzz.{file.stem}")
        for name, test in vars(module).items():
            if name.startswith("test_") and hasattr(test, "hypothesis"):
                yield f"tests/fuzz/{file.name}::{name}"


def main() -> None:
    """Fuzz the test that the command line names."""
    import atheris  # noqa: PLC0415 - an optional dependency, see the group `fuzz`

    path, _, name = sys.argv[1].partition("::")
    with atheris.instrument_imports(include=["drumline"], enable_loader_override=False):
        module: Any = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={sys.argv[2]}", f"-max_len={LONGEST_INPUT}", "-print_final_stats=1", str(corpus)]
    atheris.Setup(
        [sys.argv[0], f"-artifact_prefix={CORPUS}/", *options], getattr(module, name).hypothesis.fuzz_one_input
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
