-- prune: forget some tasks of a bulk operation.
DELETE FROM bulk_item
WHERE bulk_id = :id AND seq IN (SELECT seq FROM bulk_item WHERE bulk_id = :id ORDER BY seq LIMIT :limit)
