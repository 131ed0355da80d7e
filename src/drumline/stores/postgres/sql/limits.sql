-- name: limited_lanes
-- claim: the lanes under limits that have work which a worker could be given, and when the next of it will be due.
--   Without locks: what it finds decides which limits are locked.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

limited AS MATERIALIZED (
    SELECT lane.id, lane.is_keyed, lane.tenant, lane.queue, lane.name, lane.priority FROM drumline.lane
    WHERE
        lane.name = any(:names::text [])
        AND (cardinality(:queues::text []) = 0 OR lane.queue = any(:queues))
        AND (:tenant::text IS NULL OR lane.tenant = :tenant)
        AND NOT EXISTS (
            SELECT FROM drumline.queue_pause AS p
            WHERE p.tenant = lane.tenant AND p.queue = lane.queue
        )
        AND EXISTS (
            SELECT FROM drumline.flow_limit AS f
            WHERE
                f.tenant = lane.tenant
                AND coalesce(f.queue, lane.queue) = lane.queue
                AND coalesce(f.task, lane.name) = lane.name
        )
)

SELECT
    clock.now, l.id, l.is_keyed, l.tenant, l.queue, l.name, l.priority,
    EXISTS (
        SELECT FROM drumline.task_live AS live
        WHERE live.lane = l.id AND live.due_at <= clock.now AND live.state = 1
        ORDER BY live.due_at, live.id
        LIMIT 1
    ) AS is_due,
    (
        SELECT live.due_at FROM drumline.task_live AS live
        WHERE live.lane = l.id AND live.due_at > clock.now AND live.state = 1
        ORDER BY live.due_at, live.id
        LIMIT 1
    ) AS next_due
FROM clock
CROSS JOIN limited AS l

-- name: lock_limits
-- claim: lock limits, in the order of their numbers: whoever claims under the same ones waits, and sees what was claimed.
SELECT f.id, f.tenant, f.name, f.queue, f.task, f.keyed_by, f.max_concurrent, f.rate, f.period_ms, f.created_at,
    f.split
FROM drumline.flow_limit AS f
WHERE f.id = any(:limits::int4 [])
ORDER BY f.id
FOR UPDATE

-- name: due_in_lanes
-- claim: the oldest due tasks of lanes, of each up to :each.
SELECT head.lane, head.id, head.due_at
FROM unnest(:lanes::int4 []) AS asked (lane)
CROSS JOIN LATERAL (
    SELECT live.lane, live.id, live.due_at
    FROM drumline.task_live AS live
    WHERE live.lane = asked.lane AND live.due_at <= :now::int8 AND live.state = 1
    ORDER BY live.due_at, live.id
    LIMIT :each::int4
) AS head

-- name: due_by_key
-- claim: the oldest due tasks of each key of a lane, of some keys after :after.
--   The keys are walked one by one through task_live_keyed, so that a million tasks of one of them are one step.
--   :most, :each  how many keys, and how many tasks of each
WITH RECURSIVE known AS (
    (
        SELECT live.limit_key AS key FROM drumline.task_live AS live
        WHERE
            live.lane = :lane::int4 AND live.limit_key > :after::int4 AND live.limit_key > 0
            AND live.due_at IS NOT NULL
        ORDER BY live.limit_key
        LIMIT 1
    )
    UNION ALL
    SELECT following.key
    FROM known
    CROSS JOIN LATERAL (
        SELECT live.limit_key AS key FROM drumline.task_live AS live
        WHERE
            live.lane = :lane AND live.limit_key > known.key AND live.limit_key > 0 AND live.due_at IS NOT NULL
        ORDER BY live.limit_key
        LIMIT 1
    ) AS following
)

SELECT k.key, head.id, head.due_at
FROM (SELECT known.key FROM known LIMIT :most::int4) AS k
LEFT JOIN LATERAL (
    SELECT live.id, live.due_at
    FROM drumline.task_live AS live
    WHERE
        live.lane = :lane AND live.limit_key = k.key AND live.limit_key > 0 AND live.due_at <= :now::int8
        AND live.state = 1
    ORDER BY live.due_at, live.id
    LIMIT :each::int4
) AS head ON true
