"""The embedded store: one SQLite file, one writer thread, durable at every acknowledgement."""
