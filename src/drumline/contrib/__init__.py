"""Drumline in web frameworks: one package or module for each, which imports that framework and nothing of others.

Applications import these; nothing of Drumline does.
"""
