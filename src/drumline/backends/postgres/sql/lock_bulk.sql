-- advance a bulk operation: take one that runs, unless somebody else is dealing with it.
-- GIVES how it stands as in get_bulk, then how its rate is kept, and the time
SELECT
    b.id, b.tenant, b.act, b.request, b.rate, b.state, b.total, b.position, b.failed, b.skipped, b.created_at,
    b.finished_at, b.tokens, b.tokens_at,
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.bulk AS b
WHERE b.id = :id::uuid AND b.state = 'running'
FOR UPDATE SKIP LOCKED
