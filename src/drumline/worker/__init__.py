"""Running tasks: claim what fits, execute, report.

Knows the gateway port and the SDK's task definitions; not the store, not HTTP.

Start with `worker.py` (the life of a worker), then `attempt.py` (the life of one attempt).
"""
