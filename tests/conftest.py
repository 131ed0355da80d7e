"""What every test may use."""

pytest_plugins = ["tests.harness.fixtures", "tests.harness.parameters"]
