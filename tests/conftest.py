"""What every test may use."""

import os
import sys

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.harness.declared", "tests.harness.fixtures", "tests.harness.order", "tests.harness.parameters"]

# Tests start hundreds of processes: the first compiles what they import, and the others need not do it again. Nor need
# the processes that share the tests, each of which imports all of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Processes that tests start buffer what they write, as those of users do.
os.environ.pop("PYTHONUNBUFFERED", None)

# The same examples in every run, however slow the machine is; DRUMLINE_TEST_EXPLORE=1 looks for new ones.
settings.register_profile(
    "drumline",
    derandomize=not os.environ.get("DRUMLINE_TEST_EXPLORE"),
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("drumline")
