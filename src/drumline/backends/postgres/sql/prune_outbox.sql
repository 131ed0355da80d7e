-- prune: drop events that nobody took for as long as ended tasks are kept. Only the first ones are looked at: they are
-- written in the order of their time, nearly.
DELETE FROM drumline.outbox
WHERE outbox.seq IN (
    SELECT o.seq
    FROM (SELECT first.seq, first.at FROM drumline.outbox AS first ORDER BY first.seq LIMIT :limit::int4) AS o
    WHERE o.at < :before::int8
)
