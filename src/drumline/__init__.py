"""Drumline: a distributed task scheduler and job queue."""
