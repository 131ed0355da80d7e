"""Fuzz tests of everything that reads what users send: text, JSON, URLs, headers and settings.

Each test is a property of one parser. `make test` runs a small fixed number of examples; `make fuzz MINUTES=5` searches
for new ones, guided by coverage where atheris is installed (`tests/fuzz/run.py`). An input that broke a property stays
in the tests as an `@example`.
"""
