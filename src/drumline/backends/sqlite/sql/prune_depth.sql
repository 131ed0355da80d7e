-- prune stats: drop what is known of how many waited, of one width, from before a time.
DELETE FROM depth WHERE step = :step AND at < :before
