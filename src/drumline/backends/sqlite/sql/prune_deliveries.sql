-- prune: delete deliveries that ended before a time, the oldest ones first. Ids rise with time, so those made later need
-- not be looked at.
DELETE FROM delivery
WHERE id IN (SELECT id FROM delivery WHERE id < :below AND finished_at < :before ORDER BY id LIMIT :limit)
