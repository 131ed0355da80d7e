"""What leaves the house for the world outside: mail, and HTTP requests behind a guard.

Shared by the worker's executors and by notifications; knows neither, nor the engine. Every wait has an end.
"""
