"""How little it costs to import Drumline and to ask it for help."""

import os
import subprocess
import sys
from pathlib import Path

IMPORT_SECONDS = 0.120
HELP_SECONDS = 0.250
TRIES = 5

THIRD_PARTY = """
import sys
from drumline import Drumline
app = Drumline("budget")
app.task(print, name="print") if False else None
tops = {name.partition(".")[0] for name, module in sys.modules.items()
        if "site-packages" in (getattr(module, "__file__", None) or "")}
print("\\n".join(sorted(tops)))
"""


def cpu_seconds(*command: str) -> float:
    """Return the least processor time of several runs, which other programs on the machine do not change much."""
    return min(_once(command) for _ in range(TRIES))


def _once(command: tuple[str, ...]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_importing_drumline_is_quick() -> None:
    nothing = cpu_seconds(sys.executable, "-c", "pass")

    everything = cpu_seconds(sys.executable, "-c", "from drumline import Drumline; Drumline('budget')")

    assert everything - nothing <= IMPORT_SECONDS


def test_importing_drumline_loads_few_other_packages() -> None:
    loaded = subprocess.run([sys.executable, "-c", THIRD_PARTY], check=True, capture_output=True, text=True)

    others = {name for name in loaded.stdout.split() if not name.startswith(("_", "drumline", "distutils-precedence"))}
    assert len(others) <= 3, others


def test_help_is_quick() -> None:
    program = Path(sys.executable).with_name("drumline")

    assert cpu_seconds(str(program), "--help") <= HELP_SECONDS
