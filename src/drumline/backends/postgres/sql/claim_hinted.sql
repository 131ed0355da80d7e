-- claim: lease the hinted tasks that are due and that these requests can be given.
--   transition  queued -> running
--   fence       epoch rises, nonce is new
--   :sessions, :nonces   one per request; all requests can run the same
--   :hints, :requests    task ids, each once, and the place of the request that each is for; empty means the first
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

takers AS MATERIALIZED (
    -- The beat number of each request's session; NULL if it takes no tasks.
    SELECT array(
        SELECT s.beat
        FROM unnest(:sessions::int8 []) WITH ORDINALITY AS r (session, place)
        LEFT JOIN drumline.session AS s ON r.session = s.id AND s.closed_at IS NULL AND NOT s.should_drain
        ORDER BY r.place
    ) AS beats
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
),

picked AS MATERIALIZED (
    SELECT live.id, coalesce(hint.request, 1) AS request
    FROM unnest(:hints::uuid [], :requests::int2 []) AS hint (id, request)
    INNER JOIN drumline.task_live AS live ON hint.id = live.id
    WHERE
        live.state = 1
        AND live.due_at <= (SELECT clock.now FROM clock)
        AND (SELECT takers.beats FROM takers)[coalesce(hint.request, 1)] IS NOT NULL
        AND (live.lane IN (SELECT open_lane.id FROM open_lane)) IS TRUE -- a hash to look into, not a join
    FOR UPDATE OF live SKIP LOCKED
),

taken AS (
    UPDATE drumline.task_live AS live
    SET
        state = 2,
        epoch = live.epoch + 1,
        attempt = live.attempt + 1,
        nonce = (:nonces::int8 [])[picked.request],
        session = (:sessions)[picked.request],
        started_at = (SELECT clock.now FROM clock)
    FROM picked
    WHERE live.id = picked.id
    RETURNING live.id, live.lane, live.due_at, live.epoch, live.attempt, picked.request
),

noted AS (
    INSERT INTO drumline.claim (session, nonce, beat, tasks)
    SELECT
        (:sessions)[taken.request],
        (:nonces)[taken.request],
        (SELECT takers.beats FROM takers)[taken.request],
        array_agg(taken.id)
    FROM taken
    GROUP BY taken.request
),

told AS (
    INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
    SELECT
        (SELECT clock.now FROM clock),
        array_agg(taken.id),
        array_fill(:act::int2, ARRAY[count(*)::int4]),
        array_fill(2::int2, ARRAY[count(*)::int4]),
        array_agg(taken.epoch)
    FROM taken
    HAVING count(*) > 0
)

SELECT taken.request, taken.id, taken.lane, taken.due_at, taken.epoch, taken.attempt, task.payload, task.options
FROM taken
INNER JOIN drumline.task ON taken.id = task.id
