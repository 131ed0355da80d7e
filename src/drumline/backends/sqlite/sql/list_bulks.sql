-- bulk operations: newest first, below :before. What is NULL does not narrow.
--   :states  JSON list
SELECT id, tenant, act, request, rate, state, total, position, failed, skipped, created_at, finished_at
FROM bulk
WHERE
    (:before IS NULL OR id < :before)
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
ORDER BY id DESC
LIMIT :limit
