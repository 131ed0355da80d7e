"""What user code imports: define tasks, submit them, wait for results. Light, typed, few dependencies.

Knows the words of `core` and the HTTP API; not the engine, not the worker: those are reached through a `Transport`, and
a worker hands each attempt its `Context`. Start with `app.py`, then `definition.py` and `handle.py`.
"""
