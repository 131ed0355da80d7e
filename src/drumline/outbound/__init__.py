"""What leaves the house for the world outside: mail.

Shared by the worker's executors and by notifications; knows neither, nor the engine. Connections are opened per use
and every wait has an end.
"""
