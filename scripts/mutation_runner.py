"""Tries the changes that mutmut makes: `python -m scripts.mutation_runner TEST …` in the folder of `scripts.mutation`.

mutmut 3.8 writes the changed functions, and records what became of each change. It starts pytest once for each of them,
which takes longer than the tests. Here pytest collects the tests once and runs them without a change, to see which
functions each test reaches; then each change is tried in a fork that runs the tests which reach it until one fails:
those of the file first, then the quickest, and those that try many inputs last. After `MOST_SECONDS` the change counts
as not noticed, whatever the other tests would say.

A test may take five times the processor time that it took without a change, and two seconds: what takes longer runs
without end. The time on the clock has a far wider limit, since other processes may need the machine.
"""

import contextlib
import functools
import gc
import io
import math
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import is_hypothesis_test, settings
from mutmut.__main__ import collect_source_file_mutation_data, create_mutants
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, setup_source_paths
from mutmut.utils.format_utils import mangled_name_from_mutant_name

FORKS: Final = 2
EXAMPLES: Final = 10
"""Inputs that a test of Hypothesis tries, unless it needs more: a change that only a rare one shows is not noticed."""
MOST_SECONDS: Final = 1
"""Processor time after which no other test is run for a change."""
NOTICED: Final = 1
SURVIVED: Final = 0
NOT_REACHED: Final = 33
"""As mutmut records them; what a signal ended is recorded as the negative number of the signal."""
SAVED_EVERY: Final = 50


class Mutations:
    """A plugin of pytest: runs the tests that were collected for each change, in place of running them once."""

    def __init__(self) -> None:
        self._reached: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        self._seconds: dict[pytest.Item, float] = {}
        self._running: dict[int, tuple[SourceFileMutationData, str]] = {}
        self._unsaved: dict[Path | str, SourceFileMutationData] = {}
        self._count = 0

    def pytest_configure(self) -> None:
        """Let Hypothesis try few inputs."""
        settings.register_profile("mutation", parent=settings(), max_examples=EXAMPLES)
        settings.load_profile("mutation")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every change that was not tried yet, in the order in which the files were named."""
        self._find_reached(session.items)
        _forget_cached_results()
        os.chdir("..")
        changes, _ = collect_source_file_mutation_data(mutant_names=())
        order = config().only_mutate.index
        changes.sort(key=lambda change: order(str(change[0].path)))
        todo = [(data, name) for data, name, code in changes if code is None]
        print(f"{len(todo)} of {len(changes)} changes to try, with {len(session.items)} tests")
        gc.freeze()
        for data, name in todo:
            items = self._reached.get(mangled_name_from_mutant_name(name), [])
            if items:
                self._try(data, name, items)
            else:
                self._note(data, name, NOT_REACHED)
        while self._running:
            self._wait()
        self._save()
        return True

    def _find_reached(self, items: list[pytest.Item]) -> None:
        """Run each test without a change, and note which functions it reaches and how long it takes."""
        set_mutant_under_test("stats")
        for item, following in zip(items, [*items[1:], None], strict=True):
            began = time.process_time()
            reports = runtestprotocol(item, log=False, nextitem=following)
            self._seconds[item] = time.process_time() - began
            reached, state()._stats = state()._stats, set()  # noqa: SLF001 - mutmut has no other way to ask
            if any(report.failed for report in reports):
                print(f"left out, as it fails without a change: {item.nodeid}", flush=True)
                continue
            for function in reached:
                self._reached[function].append(item)
        for function, found in self._reached.items():
            own = f"test_{function.split('.')[2]}.py"
            found.sort(key=lambda item: self._order(item, own))

    def _order(self, item: pytest.Item, own: str) -> tuple[bool, bool, float]:
        """Return what tests of a file are sorted by, given the name of the file of its own tests."""
        return is_hypothesis_test(getattr(item, "obj", None)), item.path.name != own, self._seconds[item]

    def _try(self, data: SourceFileMutationData, name: str, items: list[pytest.Item]) -> None:
        while len(self._running) >= FORKS:
            self._wait()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _run_changed(name, [(item, self._seconds[item]) for item in items])
        self._running[child] = data, name

    def _wait(self) -> None:
        child, status = os.wait()
        if child in self._running:
            self._note(*self._running.pop(child), os.waitstatus_to_exitcode(status))

    def _note(self, data: SourceFileMutationData, name: str, code: int) -> None:
        data.exit_code_by_key[name] = code
        self._count += 1
        self._unsaved[data.path] = data
        if self._count % SAVED_EVERY == 0:
            self._save()
            print(f"{self._count} tried", flush=True)

    def _save(self) -> None:
        for data in self._unsaved.values():
            data.save()
        self._unsaved.clear()


def _run_changed(name: str, items: list[tuple[pytest.Item, float]]) -> None:
    """Run tests with a change until one fails, and end the process."""
    code = NOTICED
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.chdir("mutants")
        set_mutant_under_test(name)
        followers = [*(item for item, _ in items[1:]), None]
        for (item, seconds), following in zip(items, followers, strict=True):
            allowed = 5 * seconds + 2
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + allowed), resource.RLIM_INFINITY))
            signal.alarm(math.ceil(100 * allowed))
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                os._exit(NOTICED)
            if time.process_time() > MOST_SECONDS:
                break
        code = SURVIVED
    finally:
        os._exit(code)


def _forget_cached_results() -> None:
    """Empty the caches of functions: a result from before the change would hide it."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):  # noqa: SLF001 - the type has no other name
            each.cache_clear()


def main(tests: list[str]) -> int:
    """Write the changed functions, then try the changes."""
    os.environ.update(DRUMLINE_FUZZ_EXAMPLES=str(EXAMPLES), PY_IGNORE_IMPORTMISMATCH="1")
    set_mutant_under_test("mutant_generation")
    Path("mutants").mkdir(exist_ok=True)
    with contextlib.redirect_stdout(io.StringIO()):
        copy_src_dir()
        copy_also_copy_files()
        setup_source_paths()
        create_mutants(FORKS)
    os.chdir("mutants")
    options = ["--rootdir=.", "-q", "-s", "--tb=native", "-p", "no:randomly", "-p", "no:cacheprovider"]
    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the folder of Drumline's plugin is known by now
    code = pytest.main([*options, *quiet, *tests], plugins=[Mutations()])
    return 0 if code is pytest.ExitCode.NO_TESTS_COLLECTED else int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
