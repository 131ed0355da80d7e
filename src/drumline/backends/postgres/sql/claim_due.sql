-- claim: lease the best due tasks of the lanes that these requests can be given.
--   transition  queued -> running
--   fence       epoch rises, nonce is new
--   :sessions, :nonces  one per request; all requests can run the same
--   :limits     how many tasks each request wants; they are served in order
--   :cursor_*   for some lanes where to begin; what lies before was running or gone when somebody looked last
-- Lanes are merged by score. First it is counted, without locks, how many of the best each lane has; then so many of
-- each lane are locked, passing over those that others are claiming. One lane needs no counting.
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

slot AS MATERIALIZED (
    -- How many tasks are wanted in all, and which of them is the first for each request.
    SELECT array_agg(s.upto - s.wanted + 1 ORDER BY s.request) AS firsts, sum(s.wanted)::int8 AS total
    FROM (
        SELECT w.request, w.wanted, sum(w.wanted) OVER (ORDER BY w.request) AS upto
        FROM (
            SELECT r.request, CASE WHEN takers.beats[r.request] IS NULL THEN 0 ELSE r.wanted END AS wanted
            FROM unnest(:limits::int4 []) WITH ORDINALITY AS r (wanted, request), takers
        ) AS w
    ) AS s
),

open_lane AS MATERIALIZED (
    SELECT lane.id, lane.priority, lane.tenant FROM drumline.lane
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
),

lane_from AS MATERIALIZED (
    SELECT
        o.id, o.priority, o.tenant, coalesce(c.due_at, -1) AS due_at,
        coalesce(c.task, '00000000-0000-0000-0000-000000000000') AS task
    FROM open_lane AS o
    LEFT JOIN
        unnest(:cursor_lanes::int4 [], :cursor_due_at::int8 [], :cursor_tasks::uuid []) AS c (lane, due_at, task)
        ON o.id = c.lane
),

share AS MATERIALIZED (
    SELECT best.id, best.priority, best.due_at, best.task, count(*) AS wanted
    FROM (
        SELECT f.id, f.priority, f.due_at, f.task
        FROM lane_from AS f
        CROSS JOIN LATERAL (
            SELECT live.due_at
            FROM drumline.task_live AS live
            WHERE
                live.lane = f.id
                AND (live.due_at, live.id) >= (f.due_at, f.task)
                AND live.due_at <= (SELECT clock.now FROM clock)
                AND live.state = 1
            ORDER BY live.due_at, live.id
            LIMIT (SELECT slot.total FROM slot)
        ) AS head
        WHERE (SELECT count(*) FROM open_lane) > 1
        ORDER BY head.due_at - f.priority * 60000::int8
        LIMIT (SELECT slot.total FROM slot)
    ) AS best
    GROUP BY best.id, best.priority, best.due_at, best.task
    UNION ALL
    SELECT f.id, f.priority, f.due_at, f.task, slot.total
    FROM lane_from AS f, slot
    WHERE (SELECT count(*) FROM open_lane) = 1
),

locked AS MATERIALIZED (
    SELECT due.id, row_number() OVER (ORDER BY due.due_at - share.priority * 60000::int8, due.id) AS place
    FROM share
    CROSS JOIN LATERAL (
        SELECT live.id, live.due_at
        FROM drumline.task_live AS live
        WHERE
            live.lane = share.id
            AND (live.due_at, live.id) >= (share.due_at, share.task)
            AND live.due_at <= (SELECT clock.now FROM clock)
            AND live.state = 1
        ORDER BY live.due_at, live.id
        LIMIT share.wanted
        FOR UPDATE SKIP LOCKED
    ) AS due
),

packed AS MATERIALIZED (
    SELECT
        array_agg(locked.id ORDER BY locked.id) AS ids,
        array_agg(width_bucket(locked.place, (SELECT slot.firsts FROM slot)) ORDER BY locked.id)
        FILTER (WHERE cardinality(:sessions) > 1) AS requests
    FROM locked
),

taken AS (
    UPDATE drumline.task_live AS live
    SET
        state = 2,
        epoch = live.epoch + 1,
        attempt = live.attempt + 1,
        nonce = (:nonces::int8 [])[
            CASE WHEN cardinality(:sessions) = 1 THEN 1 ELSE (SELECT p.requests FROM packed AS p)[
                width_bucket(live.id, (SELECT p.ids FROM packed AS p))
            ] END
        ],
        session = (:sessions)[
            CASE WHEN cardinality(:sessions) = 1 THEN 1 ELSE (SELECT p.requests FROM packed AS p)[
                width_bucket(live.id, (SELECT p.ids FROM packed AS p))
            ] END
        ],
        started_at = (SELECT clock.now FROM clock)
    WHERE live.id = any((SELECT p.ids FROM packed AS p)::uuid [])
    RETURNING
        live.id, live.lane, live.due_at, live.epoch, live.attempt,
        CASE WHEN cardinality(:sessions) = 1 THEN 1 ELSE (SELECT p.requests FROM packed AS p)[
            width_bucket(live.id, (SELECT p.ids FROM packed AS p))
        ] END AS request
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
