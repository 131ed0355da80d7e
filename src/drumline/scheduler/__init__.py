"""The duties that keep the system moving, one file each: reap, sweep, prune. Any number of schedulers may run them.

A duty has `pass_once()`, which tests call directly, and knows the ports and the engine, but no backend and no HTTP.
"""
