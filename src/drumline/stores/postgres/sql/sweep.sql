-- name: upcoming
-- upcoming: the earliest queued tasks of each lane that are due from :due_after on and before :due_before. Lanes under
-- flow limits have no hints.
--   :tenants, :queues, :names, :priorities   the words of the lanes wanted; NULL means every lane
--   :per_lane                                how many of each
SELECT lane.tenant, lane.queue, lane.name, lane.priority, head.id, head.due_at
FROM drumline.lane
CROSS JOIN LATERAL (
    SELECT live.id, live.due_at
    FROM drumline.task_live AS live
    WHERE
        live.lane = lane.id
        AND live.due_at >= :due_after::int8
        AND live.due_at < :due_before::int8
        AND live.state = 1
    ORDER BY live.due_at, live.id
    LIMIT :per_lane::int4
) AS head
WHERE
    (
        :tenants::text [] IS NULL
        OR (lane.tenant, lane.queue, lane.name, lane.priority) IN (
            SELECT wanted.tenant, wanted.queue, wanted.name, wanted.priority
            FROM unnest(:tenants, :queues::text [], :names::text [], :priorities::int2 [])
                AS wanted (tenant, queue, name, priority)
        )
    )
    AND NOT lane.is_keyed
    AND NOT EXISTS (
        SELECT FROM drumline.flow_limit AS f
        WHERE
            f.tenant = lane.tenant
            AND coalesce(f.queue, lane.queue) = lane.queue
            AND coalesce(f.task, lane.name) = lane.name
    )
ORDER BY lane.id, head.due_at, head.id

-- name: waiting_tasks
-- waiting: up to :limit queued tasks due before a time, and as many that are blocked.
-- GIVES id and state
(
    SELECT head.id, 1::int2 AS state
    FROM drumline.lane
    CROSS JOIN LATERAL (
        SELECT l.id FROM drumline.task_live AS l
        WHERE l.lane = lane.id AND l.due_at < :due_before::int8 AND l.state = 1
        LIMIT :limit::int4
    ) AS head
    LIMIT :limit
)
UNION ALL
(
    SELECT head.id, 0::int2 AS state
    FROM drumline.lane
    CROSS JOIN LATERAL (
        SELECT l.id FROM drumline.task_live AS l
        WHERE l.lane = lane.id AND l.due_at IS NULL AND l.state = 0
        LIMIT :limit
    ) AS head
    LIMIT :limit
)

-- name: paused_queues
-- sweep: what is paused, without counting what waits there.
SELECT p.tenant, p.queue FROM drumline.queue_pause AS p ORDER BY p.tenant, p.queue
