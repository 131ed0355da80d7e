-- bulk operations: one as it stands.
--   :tenant  NULL means every tenant's
SELECT
    b.id, b.tenant, b.act, b.request, b.rate, b.state, b.total, b.position, b.failed, b.skipped, b.created_at,
    b.finished_at
FROM drumline.bulk AS b
WHERE b.id = :id::uuid AND (:tenant::text IS NULL OR b.tenant = :tenant)
