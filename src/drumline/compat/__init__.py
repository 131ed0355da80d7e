"""The programming interfaces of other task queues, on top of the SDK: one package for each.

They import the SDK and nothing above it, and never the queue whose interface they offer.
"""
