"""The test kit: worlds, their faults, and the pytest plugin."""
