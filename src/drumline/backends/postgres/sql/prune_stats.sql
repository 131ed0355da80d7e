-- prune stats: drop the figures of one width from before a time.
DELETE FROM drumline.stat AS s WHERE s.step = :step::int4 AND s.at < :before::int8
RETURNING s.at
