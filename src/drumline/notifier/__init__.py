"""The notifier: reads what happened, finds who wants to know, and tells them by webhook or by mail.

`reader.py` turns events into deliveries, `courier.py` calls webhooks, `postman.py` sends mail that `letters.py` writes,
`prune.py` lets go of old deliveries. Any number of notifiers may run. Knows the ports and what is outbound, but no
backend and no API.
"""
