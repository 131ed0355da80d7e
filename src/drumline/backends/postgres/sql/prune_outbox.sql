-- prune: drop events that nobody took for as long as ended tasks are kept.
DELETE FROM drumline.outbox
WHERE outbox.seq IN (
    SELECT o.seq FROM drumline.outbox AS o WHERE o.at < :before::int8 ORDER BY o.seq LIMIT :limit::int4
)
