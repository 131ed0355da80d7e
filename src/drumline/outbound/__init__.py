"""Outgoing connections: mail, and HTTP requests behind an address check.

Shared by the worker's executors and by notifications; knows neither, nor the engine. Every wait has an end.
"""
