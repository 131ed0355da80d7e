-- claim: when the next task will be due that a worker could be given; NULL if there is none.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

open_lane AS MATERIALIZED (
    SELECT lane.id, lane.priority FROM drumline.lane
    WHERE
        lane.name = any(:names::text [])
        AND (cardinality(:queues::text []) = 0 OR lane.queue = any(:queues))
        AND (:tenant::text IS NULL OR lane.tenant = :tenant)
        AND NOT EXISTS (
            SELECT FROM drumline.queue_pause AS p
            WHERE p.tenant = lane.tenant AND p.queue = lane.queue
        )
        AND NOT EXISTS (
            SELECT FROM drumline.flow_limit AS f
            WHERE
                f.tenant = lane.tenant
                AND coalesce(f.queue, lane.queue) = lane.queue
                AND coalesce(f.task, lane.name) = lane.name
        )
)

SELECT min(head.due_at)
FROM open_lane AS o
CROSS JOIN LATERAL (
    SELECT live.due_at
    FROM drumline.task_live AS live
    WHERE live.lane = o.id AND live.due_at > (SELECT clock.now FROM clock) AND live.state = 1
    ORDER BY live.due_at
    LIMIT 1
) AS head
