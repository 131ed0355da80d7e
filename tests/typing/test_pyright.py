"""Pyright sees of the SDK what mypy sees. `make check` lets mypy read the same files.

The program is basedpyright, which is pyright with the node that it runs on.
"""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PYRIGHT = Path(sys.executable).parent / "basedpyright"


def test_pyright_accepts_what_is_right_and_finds_each_planted_mistake() -> None:
    command = [str(PYRIGHT), "--project", str(FOLDER), "--pythonpath", sys.executable, "--outputjson"]

    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    told = json.loads(run.stdout)
    found = [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in told["generalDiagnostics"]
    ]
    assert found == []
    assert told["summary"]["filesAnalyzed"] >= len(list(FOLDER.glob("*_types.py")))
