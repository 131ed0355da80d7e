"""Asynchronous tools that several rooms share: batching, caching, threads and waiting.

They know nothing of tasks, and only `core` among the rooms.
"""
