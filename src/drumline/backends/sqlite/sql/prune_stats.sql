-- prune stats: drop the figures of one width from before a time.
DELETE FROM stat WHERE step = :step AND at < :before
