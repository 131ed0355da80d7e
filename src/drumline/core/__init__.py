"""Types and rules without I/O: tasks, jobs, schedules, states, retries.

Pure: no input, no output, no clock of its own, no backend. Every other room may import it; it imports none of them.
Start with `state.py` (the life of a task), then `task.py`, `lease.py` and `outcome.py`.
All times are whole milliseconds since 1970 in UTC (`Instant`), all durations `timedelta`, until the edge.
"""
