"""The loggers of tasks: those of the standard library, whose lines a worker keeps with the task."""

from logging import Logger, getLogger


def get_task_logger(name: str) -> Logger:
    """Return the logger of that name."""
    return getLogger(name)


get_logger = get_task_logger
"""The same under Celery's other name."""
