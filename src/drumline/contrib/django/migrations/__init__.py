"""Migrations of Django: they create no table."""
