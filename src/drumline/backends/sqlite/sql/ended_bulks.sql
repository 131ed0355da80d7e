-- prune: bulk operations that ended before a time, a few at once.
SELECT id FROM bulk WHERE finished_at < :before ORDER BY id LIMIT :limit
