"""The workload of `drumline demo`: a small shop whose tasks succeed, fail, wait and retry.

Requests follow from a seed (`scenario.py`), and what becomes of them from their arguments (`tasks.py`), so that a seed
gives the same demo each time. The server is used over HTTP only, as any program would.

It is in the package, not in `examples/`, so that `drumline demo` works from the wheel and from an editable install.
"""
