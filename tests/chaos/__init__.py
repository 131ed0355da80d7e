"""A whole installation on real services under random faults, watched by a witness outside of it.

`python -m tests.chaos --minutes 60 --seed 1 --folder DIR` (or `make chaos MINUTES=60`) starts PostgreSQL, Redis, Kafka
and the processes of Drumline, has `witness.py` send requests and record every answer, and injects one fault after the
other (`faults.py`). Then all is repaired, every acknowledged task must end, and `judge.py` compares what was
acknowledged, what ran and what the store says. What is left is a trace (`tests/evidence/trace.py`) and a report.
"""
