"""Starting and stopping: composes engine, API, scheduler duties and worker into processes.

Knows every room and how they stop in order; decides nothing about tasks. Start with `servers.py`.
"""
