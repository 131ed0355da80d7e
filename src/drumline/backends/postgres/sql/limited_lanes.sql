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
