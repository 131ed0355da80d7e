"""Django's own tests of its Tasks framework, from its source distribution."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scripts.programs import ROOT, find_files, missing
from tests.contrib.django_skips import skips

LACKING = missing("django")
PLUGINS_LEFT_OUT = ("randomly", "cacheprovider", "xdist", "asyncio")


@pytest.mark.timeout(300)
@pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
def test_django_s_own_tests_pass_but_for_those_that_are_listed_with_a_reason(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    found = find_files("django")
    assert found is not None
    source = found.parents[2]

    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(source / "tests"), "-q", "--tb=short",
            *(word for name in PLUGINS_LEFT_OUT for word in ("-p", f"no:{name}")),
            "-p", "tests.contrib.django_own_plugin", "--timeout", "120", "--junitxml", str(report), "tasks",
        ],
        cwd=source / "tests",
        env={
            **os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, ROOT, source / "tests"))),
            "PYTEST_ADDOPTS": "",
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    cases = {_name(case): case.find("skipped") is not None for case in ET.parse(report).iter("testcase")}
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name for name, is_skipped in cases.items() if is_skipped} == set(skips())
    assert len(cases) > 70


def _name(case: ET.Element) -> str:
    return f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
