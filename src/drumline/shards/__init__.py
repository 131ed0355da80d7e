"""One installation over several databases: each has an engine of its own, behind one front.

`shard_set.py` is what a process knows of them. With one database there is one shard, which has everything.
"""
