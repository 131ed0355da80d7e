"""All that can be done with tasks: submit, claim, settle, control, query.

The hall of the house: it knows the ports and the rules, but no backend, no HTTP, no process. `Engine` (engine.py)
only holds the services, one small file each, named by their verb.
"""
