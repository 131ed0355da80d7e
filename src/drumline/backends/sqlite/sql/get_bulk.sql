-- bulk operations: one as it stands, and how its rate is kept.
--   :tenant  NULL means every tenant's
SELECT
    id, tenant, act, request, rate, state, total, position, failed, skipped, created_at, finished_at,
    tokens, tokens_at
FROM bulk
WHERE id = :id AND (:tenant IS NULL OR tenant = :tenant)
