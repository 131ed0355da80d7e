"""`drumline doctor`: examine an installation and say what to do.

`machine.py` looks at this machine, `services.py` judges what PostgreSQL and Redis say of themselves, `fleet.py` looks
at workers, queues and the outbox through the store, `shards.py` judges the databases of an installation together.
Judging is pure; `examining.py` and `asking_shards.py` ask and put it together.
"""
