"""A lively workload to look at: a small shop, with everything that goes right and wrong in one.

What is asked for follows from a seed (`scenario.py`), and what becomes of it from what was asked for (`chance.py`), so
that two demonstrations of one seed tell the same story. It knows Drumline from outside only: over HTTP, as any program.
"""
