"""`drumline docs` shows the documentation of the package without a server."""

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from drumline.api.package_files import SITE, StaticFolder
from tests.cli.conftest import Drumline

BUILT = pytest.mark.skipif(not SITE.names, reason="the documentation is not built: `make docs` builds it")


def test_a_package_without_the_pages_says_how_to_build_them(
    drumline: Drumline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.api.package_files.SITE", StaticFolder("_nothing_is_built_here"))

    ran = drumline("docs", "--text")

    assert (ran.code, ran.out) == (3, "")
    assert "make docs" in ran.err


@BUILT
def test_a_page_is_printed_as_markdown(drumline: Drumline) -> None:
    assert drumline("docs", "how-to/jobs", "--text").out.startswith("# How to run tasks in order\n")
    assert drumline("docs", "--text").out.startswith("# Drumline\n")
    assert drumline("docs", "llms.txt", "--text").out.startswith("# Drumline ")


@BUILT
@pytest.mark.parametrize("page", ["nowhere", "../_version", "a" * 300])
@pytest.mark.parametrize("flags", [("--text",), ("--no-browser",)])
def test_a_page_that_is_not_there_is_not_found(drumline: Drumline, page: str, flags: tuple[str, ...]) -> None:
    ran = drumline("docs", page, *flags)

    assert (ran.code, ran.out) == (3, "")
    assert "no page" in ran.err


@BUILT
def test_the_pages_are_served_to_this_machine_until_it_is_stopped() -> None:
    command = [sys.executable, "-m", "drumline.cli.main", "docs", "how-to/jobs", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/how-to/jobs/", said)
        assert found is not None, said
        with urllib.request.urlopen(found.group(), timeout=30) as reply:
            page, policy = reply.read().decode(), reply.headers["content-security-policy"]
        with urllib.request.urlopen(found.group().rstrip("/"), timeout=30) as reply:
            led = reply.url
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(found.group() + "../%2e%2e/_version.py", timeout=30)
        process.send_signal(signal.SIGINT)

    assert "How to run tasks in order" in page
    assert "default-src 'none'" in policy
    assert led == found.group()
    assert process.returncode == 130
