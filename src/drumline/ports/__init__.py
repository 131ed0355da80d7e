"""The doors of the engine: protocols at the height of intent, with their promises in the docstrings.

`store.py` is the durable truth, `queue.py` the hints about what to claim next, `gateway.py` the engine as a worker
sees it. Backends implement the first two; the conformance suite in `tests/conformance` holds every implementation
to every promise made here.
"""
