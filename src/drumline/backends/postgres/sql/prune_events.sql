-- prune events: drop rows that every consumer has passed on, those written before a time and all but the last :most.
-- Only the first :limit are looked at: they were written in the order of time, nearly.
-- GIVES how many were dropped
WITH bound AS MATERIALIZED (
    SELECT
        least((SELECT min(c.position) FROM drumline.event_cursor AS c), log.position) AS passed,
        log.position - :most::int8 AS crowded
    FROM drumline.event_log AS log
),

gone AS (
    DELETE FROM drumline.outbox
    WHERE outbox.position IN (
        SELECT o.position
        FROM (
            SELECT first.position, first.at FROM drumline.outbox AS first
            WHERE first.position IS NOT NULL
            ORDER BY first.position
            LIMIT :limit::int4
        ) AS o, bound
        WHERE o.position <= bound.passed AND (o.at < :before::int8 OR o.position <= bound.crowded)
    )
    RETURNING outbox.position
)

SELECT count(*) AS count FROM gone
