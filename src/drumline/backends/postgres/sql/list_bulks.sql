-- bulk operations: newest first, below :before. What is NULL does not narrow.
SELECT
    b.id, b.tenant, b.act, b.request, b.rate, b.state, b.total, b.position, b.failed, b.skipped, b.created_at,
    b.finished_at
FROM drumline.bulk AS b
WHERE
    (:before::uuid IS NULL OR b.id < :before)
    AND (:tenant::text IS NULL OR b.tenant = :tenant)
    AND (:states::text [] IS NULL OR b.state = any(:states))
ORDER BY b.id DESC
LIMIT :limit::int4
