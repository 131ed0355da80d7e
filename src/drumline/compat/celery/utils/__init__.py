"""Stands for `celery.utils`, of which programs use the loggers."""
