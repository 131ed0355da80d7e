"""Real components for tests: found on the machine, started on free ports in private folders, stopped by their id.

Each is looked for in this order: an address from the environment, binaries on the machine; else the test is skipped
with the reason.
"""
