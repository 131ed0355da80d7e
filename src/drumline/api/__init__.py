"""The HTTP face of the engine: routes, problem replies, OpenAPI. It decides nothing itself.

`app.py` puts it together, `routes.py` lists every operation, and each handler file exports its own. `front.py` is
what every request passes: key, request id, errors. It knows the engine and no backend, no process, no environment.
Reading order: `operation.py`, `endpoint.py`, `tasks.py`, `problems.py`.
"""
