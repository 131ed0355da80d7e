-- list: the newest tasks below :before that may be in some states.
--   :live, :completed, :unhappy   which states are asked for; an empty list costs nothing
--   :pending, :queued             whether tasks are asked for that are queued for later, or due by :now
--   :lanes                        NULL means every lane
--   :since                        NULL, or the time before which an end does not count
-- GIVES candidates: an attempt that ended a task may have been followed by a retry
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

(
    SELECT live.id FROM drumline.task_live AS live
    WHERE
        (cardinality(:live::int2 []) > 0 OR :pending::bool OR :queued::bool)
        AND live.id < :before::uuid
        AND (:lanes::int4 [] IS NULL OR live.lane = any(:lanes))
        AND (
            live.state = any(:live)
            OR (:pending AND live.state = 1 AND live.due_at > (SELECT clock.now FROM clock))
            OR (:queued AND live.state = 1 AND live.due_at <= (SELECT clock.now FROM clock))
        )
    ORDER BY live.id DESC
    LIMIT :limit::int4
)
UNION ALL
(
    SELECT a.task_id FROM drumline.attempt AS a
    WHERE
        cardinality(:completed::int2 []) > 0
        AND a.task_id < :before
        AND (:lanes IS NULL OR a.lane = any(:lanes))
        AND a.outcome = any(:completed)
        AND (:since::int8 IS NULL OR a.finished_at >= :since)
    ORDER BY a.task_id DESC, a.epoch DESC
    LIMIT :limit
)
UNION ALL
(
    SELECT head.task_id
    FROM unnest(:unhappy::int2 []) AS u (outcome)
    CROSS JOIN LATERAL (
        SELECT a.task_id FROM drumline.attempt AS a
        WHERE
            a.outcome = u.outcome
            AND a.outcome BETWEEN 4 AND 6
            AND a.task_id < :before
            AND (:lanes IS NULL OR a.lane = any(:lanes))
            AND (:since IS NULL OR a.finished_at >= :since)
        ORDER BY a.task_id DESC
        LIMIT :limit
    ) AS head
)
ORDER BY 1 DESC
LIMIT :limit
