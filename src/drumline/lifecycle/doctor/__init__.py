"""`drumline doctor`: examine an installation and say what to do.

`machine.py` looks at this machine, `services.py` judges what PostgreSQL and Redis say of themselves, `fleet.py` looks
at workers, queues and the outbox through the store. Judging is pure; `examining.py` asks and puts it together.
"""
