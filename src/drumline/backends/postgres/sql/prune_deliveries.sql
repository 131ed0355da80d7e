-- prune: delete deliveries that ended before a time, the oldest ones first. Ids rise with time, so those made later need
-- not be looked at.
DELETE FROM drumline.delivery
WHERE delivery.id IN (
    SELECT d.id FROM drumline.delivery AS d
    WHERE d.id < :below::uuid AND d.finished_at < :before::int8
    ORDER BY d.id
    LIMIT :limit::int4
)
RETURNING delivery.id
