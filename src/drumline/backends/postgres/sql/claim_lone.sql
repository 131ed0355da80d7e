-- claim: lease one hinted task to one session, if it is due and can be given to it.
--   transition  queued -> running
--   fence       epoch rises, nonce is new
-- The same as claim_hinted, for a task that came alone and is under no flow limit: somebody waits for it, and most of what
-- claim_hinted takes for one task is what it prepares for many.
WITH taken AS (
    UPDATE drumline.task_live AS live
    SET
        state = 2,
        epoch = live.epoch + 1,
        attempt = live.attempt + 1,
        nonce = :nonce::int8,
        session = :session::int8,
        started_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
    WHERE
        live.id = :hint::uuid
        AND live.state = 1
        AND coalesce(live.due_at, 9223372036854775807) <= coalesce( -- so that no index on it is used
            :now, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8
        )
        AND (
            SELECT s.closed_at IS NULL AND NOT s.should_drain FROM drumline.session AS s
            WHERE s.id = :session
        )
        AND (
            SELECT
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
            FROM drumline.lane
            WHERE lane.id = live.lane
        )
    RETURNING live.id, live.lane, live.due_at, live.epoch, live.attempt, live.started_at
),

noted AS (
    INSERT INTO drumline.claim (session, nonce, beat, tasks)
    SELECT :session, :nonce, (SELECT s.beat FROM drumline.session AS s WHERE s.id = :session), ARRAY[taken.id]
    FROM taken
),

told AS (
    INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
    SELECT taken.started_at, ARRAY[taken.id], ARRAY[:act::int2], ARRAY[2::int2], ARRAY[taken.epoch]
    FROM taken
)

SELECT 1 AS request, taken.id, taken.lane, taken.due_at, taken.epoch, taken.attempt, wide.payload, wide.options
FROM taken
CROSS JOIN LATERAL (
    SELECT task.payload, task.options FROM drumline.task WHERE task.id = taken.id OFFSET 0
) AS wide
