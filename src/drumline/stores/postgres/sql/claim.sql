-- name: next_due
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

-- name: claim_hinted
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
        live.id, live.lane, live.due_at, live.epoch, live.attempt, live.records,
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

SELECT
    taken.request, taken.id, taken.lane, taken.due_at, taken.epoch, taken.attempt, wide.payload, wide.options, taken.records
FROM taken
CROSS JOIN LATERAL (
    SELECT
        -- A large one is read by itself, so that an answer has an end: large_payloads.
        CASE WHEN octet_length(task.payload) <= 32768 THEN task.payload END AS payload, task.options
    FROM drumline.task WHERE task.id = taken.id
    OFFSET 0
) AS wide

-- name: claim_lone
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
    RETURNING live.id, live.lane, live.due_at, live.epoch, live.attempt, live.started_at, live.records
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

SELECT
    1 AS request, taken.id, taken.lane, taken.due_at, taken.epoch, taken.attempt, wide.payload, wide.options, taken.records
FROM taken
CROSS JOIN LATERAL (
    SELECT task.payload, task.options FROM drumline.task WHERE task.id = taken.id OFFSET 0
) AS wide

-- name: claim_shared
-- claim: lease the best due tasks of the lanes that these requests can be given, where there are several tenants.
--   :share_*    for some tenants where they stand and what a task raises them by; the others stand at 0
-- Lanes of one tenant are merged by score, and tenants by their shares. All else is as in claim_due:
-- like claim_due, with another share
share AS MATERIALIZED (
    SELECT best.id, best.priority, best.due_at, best.task, count(*) AS wanted
    FROM (
        SELECT f.id, f.priority, f.due_at, f.task
        FROM lane_from AS f
        LEFT JOIN
            unnest(:share_tenants::text [], :share_levels::int8 [], :share_steps::int8 []) AS s (tenant, level, step)
            ON f.tenant = s.tenant
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
        ORDER BY
            coalesce(s.level, 0) + coalesce(s.step, 1000000)
            * row_number() OVER (PARTITION BY f.tenant ORDER BY head.due_at - f.priority * 60000::int8),
            head.due_at - f.priority * 60000::int8
        LIMIT (SELECT slot.total FROM slot)
    ) AS best
    GROUP BY best.id, best.priority, best.due_at, best.task
)

-- name: claim_due
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
        live.id, live.lane, live.due_at, live.epoch, live.attempt, live.records,
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

SELECT
    taken.request, taken.id, taken.lane, taken.due_at, taken.epoch, taken.attempt, wide.payload, wide.options, taken.records
FROM taken
CROSS JOIN LATERAL (
    SELECT
        -- A large one is read by itself, so that an answer has an end: large_payloads.
        CASE WHEN octet_length(task.payload) <= 32768 THEN task.payload END AS payload, task.options
    FROM drumline.task WHERE task.id = taken.id
    OFFSET 0
) AS wide

-- name: has_tenants
-- claim: whether there are lanes of several tenants.
SELECT coalesce(min(lane.tenant) <> max(lane.tenant), false) AS are_several FROM drumline.lane

-- name: large_payloads
-- claim: read the payloads of claimed tasks that were too large to come with the claim.
--   :ids    the tasks, best first
--   :most   how many bytes they may have together; the first is read whatever it has
-- GIVES the ids and payloads of the first of them that are no more than that
SELECT sized.id, sized.payload
FROM (
    SELECT
        given.id, given.place, wide.payload,
        sum(octet_length(wide.payload)) OVER (ORDER BY given.place ROWS UNBOUNDED PRECEDING) AS size
    FROM unnest(:ids::uuid []) WITH ORDINALITY AS given (id, place)
    CROSS JOIN LATERAL (
        SELECT task.payload FROM drumline.task WHERE task.id = given.id OFFSET 0
    ) AS wide
) AS sized
WHERE sized.size <= :most::int8 OR sized.place = 1

-- name: claimed_before
-- claim: what a session took with a claim whose answer was lost; no rows if the session is closed.
SELECT
    1 AS request, live.id, live.lane, live.due_at, live.epoch, live.attempt, wide.payload, wide.options, live.records
FROM drumline.claim
CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
CROSS JOIN LATERAL (
    SELECT l.id, l.lane, l.due_at, l.epoch, l.attempt, l.records
    FROM drumline.task_live AS l
    WHERE l.id = given.id AND l.state = 2 AND l.session = claim.session AND l.nonce = claim.nonce
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT
        -- A large one is read by itself, so that an answer has an end: large_payloads.
        CASE WHEN octet_length(task.payload) <= 32768 THEN task.payload END AS payload, task.options
    FROM drumline.task WHERE task.id = given.id
    OFFSET 0
) AS wide
WHERE
    claim.session = :session::int8
    AND claim.nonce = :nonce::int8
    AND EXISTS (SELECT FROM drumline.session AS s WHERE s.id = :session AND s.closed_at IS NULL)

-- name: lane_numbers
-- submit, reschedule: the numbers of lanes.
SELECT lane.id, g.tenant, g.queue, g.name, g.priority
FROM unnest(:tenants::text [], :queues::text [], :names::text [], :priorities::int2 []) AS g (tenant, queue, name, priority)
CROSS JOIN LATERAL (
    SELECT l.id
    FROM drumline.lane AS l
    WHERE l.name = g.name AND l.queue = g.queue AND l.tenant = g.tenant AND l.priority = g.priority AND NOT l.is_keyed
    OFFSET 0
) AS lane

-- name: insert_lanes
-- submit, reschedule: give lanes a number. Sorted, so that no two callers wait for each other.
INSERT INTO drumline.lane (tenant, queue, name, priority)
SELECT g.tenant, g.queue, g.name, g.priority
FROM unnest(:tenants::text [], :queues::text [], :names::text [], :priorities::int2 []) AS g (tenant, queue, name, priority)
ON CONFLICT DO NOTHING
