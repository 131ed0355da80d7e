"""Runs Drumline's own code in simulated time: an event loop, clocks and a database that repeat exactly.

Nothing here sleeps, opens a socket or starts a thread. All chance comes from generators that the caller has seeded, so
that the same seed gives the same run. Of the other packages it knows the stores and what they stand on.
"""
