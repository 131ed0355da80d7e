-- prune: forget causes that have no dead letters and were last seen before a time.
DELETE FROM cause WHERE count = 0 AND last_at < :before
