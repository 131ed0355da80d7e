"""The notifier: reads events from the log and sends them to subscribers by webhook or by mail.

`reader.py` turns events into deliveries, `webhooks.py` calls webhooks, `mail.py` sends mail that `mail_template.py`
writes, `prune.py` deletes old deliveries. Any number of notifiers may run. Knows the ports and what is outbound, but no
backend and no API.
"""
