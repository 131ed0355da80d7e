"""The stores, written once: what PostgreSQL and SQLite do alike.

`driver.py` is the contract that each database fulfils. `parts/` has one file for each aggregate (keys, secrets …), the
same for every store; `sql/` has its statements, one file for each aggregate, in PostgreSQL's dialect and where needed
in SQLite's. The hot path (submit, claim, settle, heartbeat) is written for each database, in `postgres/` and `sqlite/`.
"""
