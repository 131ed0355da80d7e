import json
import subprocess
import sys

import drumline

_LOADED = """
import sys, json
before = set(sys.modules)
{code}
names = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(json.dumps(sorted(names - set(sys.stdlib_module_names) - {{"drumline"}})))
"""
_TIMED = "import time; start = time.process_time(); import drumline; print(time.process_time() - start)"


def third_party(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", _LOADED.format(code=code)], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_importing_drumline_loads_nothing_else() -> None:
    assert third_party("import drumline") == set()


def test_defining_tasks_needs_msgspec_only() -> None:
    # msgspec looks for typing_extensions where it is installed; nothing of ours needs it.
    assert third_party("from drumline import Drumline; Drumline('x')") <= {"msgspec", "typing_extensions"}


def test_the_whole_client_stays_within_three_packages() -> None:
    code = "from drumline import *; from drumline.sdk.http import HttpTransport; HttpTransport('http://x')"

    assert third_party(code) - {"typing_extensions"} <= {"msgspec", "urllib3"}


def test_importing_is_quick() -> None:
    # Processor time, and the best of five: so a busy machine does not count.
    seconds = min(
        float(subprocess.run([sys.executable, "-c", _TIMED], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    )

    assert seconds < 0.12


def test_every_public_name_is_there() -> None:
    assert set(drumline.__all__) - {"__version__"} == set(drumline._HOME_OF)
    for name in drumline.__all__:
        assert getattr(drumline, name) is not None
    assert not hasattr(drumline, "no_such_name")
    assert dir(drumline) == sorted(drumline.__all__)
