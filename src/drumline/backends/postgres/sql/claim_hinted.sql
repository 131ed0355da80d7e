-- claim: lease the hinted tasks that are due and that these requests can be given.
--   transition  queued -> running
--   fence       epoch rises, nonce is new
--   :sessions, :nonces   one per request; all requests can run the same
--   :hints, :requests    task ids, each once and sorted, and the place of the request that each is for; empty means
--                        the first
--   :limited             whether all are under flow limits: then the caller has seen to it that there is room in these
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

takers AS MATERIALIZED (
    -- The beat number of each request's session; NULL if it takes no tasks.
    SELECT array(
        SELECT s.beat
        FROM unnest(:sessions::int8 []) WITH ORDINALITY AS r (session, place)
        LEFT JOIN LATERAL (
            SELECT session.beat
            FROM drumline.session
            WHERE session.id = r.session AND session.closed_at IS NULL AND NOT session.should_drain
            OFFSET 0
        ) AS s ON true
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
        AND :limited::bool = EXISTS (
            SELECT FROM drumline.flow_limit AS f
            WHERE
                f.tenant = lane.tenant
                AND coalesce(f.queue, lane.queue) = lane.queue
                AND coalesce(f.task, lane.name) = lane.name
        )
),

taken AS (
    -- The rows are locked in the order of their ids, so that claims that hold the same hint wait for each other, and
    -- never in a circle; whoever comes second finds the task running.
    UPDATE drumline.task_live AS live
    SET
        state = 2,
        epoch = live.epoch + 1,
        attempt = live.attempt + 1,
        nonce = (:nonces::int8 [])[
            CASE WHEN cardinality(:requests) = 0 THEN 1 ELSE (:requests)[width_bucket(live.id, :hints)] END
        ],
        session = (:sessions)[
            CASE WHEN cardinality(:requests) = 0 THEN 1 ELSE (:requests)[width_bucket(live.id, :hints)] END
        ],
        started_at = (SELECT clock.now FROM clock)
    WHERE
        live.id = any(:hints::uuid [])
        AND live.state = 1
        AND coalesce(live.due_at, 9223372036854775807) <= (SELECT clock.now FROM clock) -- so that no index on it is used
        AND (SELECT takers.beats FROM takers)[
            CASE WHEN cardinality(:requests::int2 []) = 0 THEN 1 ELSE (:requests)[width_bucket(live.id, :hints)] END
        ] IS NOT NULL
        AND (live.lane IN (SELECT open_lane.id FROM open_lane)) IS TRUE -- a hash to look into, not a join
    RETURNING
        live.id, live.lane, live.due_at, live.epoch, live.attempt,
        CASE WHEN cardinality(:requests) = 0 THEN 1 ELSE (:requests)[width_bucket(live.id, :hints)] END AS request
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

SELECT taken.request, taken.id, taken.lane, taken.due_at, taken.epoch, taken.attempt, wide.payload, wide.options
FROM taken
CROSS JOIN LATERAL (
    SELECT
        -- A large one is read by itself, so that an answer has an end: large_payloads.sql.
        CASE WHEN octet_length(task.payload) <= 32768 THEN task.payload END AS payload, task.options
    FROM drumline.task WHERE task.id = taken.id
    OFFSET 0
) AS wide
