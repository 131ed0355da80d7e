-- name: now
-- now: the store's time.
SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now

-- name: lane_names
-- lanes: the tenant, queue, name and priority of lanes by their numbers.
SELECT lane.id, lane.tenant, lane.queue, lane.name, lane.priority
FROM drumline.lane
WHERE lane.id = any(:lanes::int4 [])

-- name: get (postgres)
-- get: tasks as they are now.
--   :with_payload  whether to read payloads and results too
--   :with_error    whether to read errors
SELECT
    task.id,
    task.lane,
    coalesce(live.state, a.outcome) AS state,
    task.created_at,
    CASE WHEN live.state = 0 THEN NULL ELSE coalesce(live.due_at, task.due_at) END AS due_at,
    coalesce(live.epoch, a.epoch) AS epoch,
    coalesce(live.attempt, a.attempt) AS attempt,
    coalesce(live.failures, 0) AS failures,
    coalesce(live.crashes, 0) AS crashes,
    coalesce(live.cancel_requested, false) AS cancel_requested,
    coalesce(nullif(live.started_at, 0), a.started_at) AS started_at,
    CASE WHEN live.id IS NULL THEN a.finished_at END AS finished_at,
    coalesce(nullif(live.session, 0), a.session) AS session,
    task.options,
    task.idempotency_key,
    CASE WHEN live.id IS NULL AND :with_payload::bool THEN a.result END AS result,
    CASE WHEN :with_error::bool THEN a.error END AS error,
    CASE WHEN :with_payload THEN task.payload END AS payload,
    coalesce(live.state = 1 AND a.outcome = 14, false) AS is_parked
FROM drumline.task
LEFT JOIN LATERAL (
    SELECT
        l.id, l.state, l.due_at, l.epoch, l.attempt, l.failures, l.crashes, l.cancel_requested, l.started_at, l.session
    FROM drumline.task_live AS l
    WHERE l.id = task.id
    OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT
        attempt.outcome, attempt.epoch, attempt.attempt, attempt.started_at, attempt.finished_at, attempt.session,
        attempt.result, attempt.error
    FROM drumline.attempt
    WHERE attempt.task_id = task.id
    ORDER BY attempt.epoch DESC
    LIMIT 1
) AS a ON true
WHERE task.id = any(:ids::uuid [])

-- name: get (sqlite)
-- get: tasks as they are now.
--   :with_payload  whether to read payloads and results too
--   :with_error    whether to read errors
SELECT
    view.id, (SELECT task.lane FROM task WHERE task.id = view.id) AS lane, view.state, view.created_at, view.due_at,
    view.epoch, view.attempt, view.failures, view.crashes, view.cancel_requested, view.started_at, view.finished_at,
    view.session, view.options, view.idempotency_key,
    CASE WHEN :with_payload THEN CAST(view.result AS BLOB) END AS result,
    CASE WHEN :with_error THEN view.error END AS error,
    CASE WHEN :with_payload THEN CAST(view.payload AS BLOB) END AS payload,
    coalesce(
        view.state = 1
        AND (SELECT a.outcome FROM attempt AS a WHERE a.task_id = view.id ORDER BY a.epoch DESC LIMIT 1) = 14,
        false
    ) AS is_parked
FROM task_view AS view
WHERE view.id = any(:ids)

-- name: attempts
-- attempts: a task's executions below :before, the newest first, the running one included; :limit of those that ended.
SELECT ended.epoch, ended.attempt, ended.outcome, ended.session, ended.started_at, ended.finished_at, ended.error
FROM (
    SELECT a.epoch, a.attempt, a.outcome, a.session, a.started_at, a.finished_at, a.error
    FROM drumline.attempt AS a
    WHERE
        a.task_id = :id::uuid
        AND a.epoch < :before::int4
        AND (
            :tenant::text IS NULL
            OR EXISTS (
                SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
                WHERE task.id = :id AND lane.tenant = :tenant
            )
        )
    ORDER BY a.epoch DESC
    LIMIT :limit::int4
) AS ended
UNION ALL
SELECT live.epoch, live.attempt, live.state, live.session, live.started_at, NULL, NULL
FROM drumline.task_live AS live
WHERE
    live.id = :id
    AND live.state = 2
    AND live.epoch < :before
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT 1 FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY 1 DESC

-- name: holders (postgres)
-- log: who ran executions, whether they have ended or not, with which nonce, and as which attempt.
SELECT g.id, g.epoch, a.session, a.nonce, a.attempt
FROM unnest(:ids::uuid [], :epochs::int4 []) AS g (id, epoch)
CROSS JOIN LATERAL (
    SELECT attempt.session, attempt.nonce, attempt.attempt
    FROM drumline.attempt
    WHERE attempt.task_id = g.id AND attempt.epoch = g.epoch
    OFFSET 0
) AS a
UNION ALL
SELECT g.id, g.epoch, l.session, l.nonce, l.attempt
FROM unnest(:ids::uuid [], :epochs::int4 []) AS g (id, epoch)
CROSS JOIN LATERAL (
    SELECT live.session, live.nonce, live.attempt
    FROM drumline.task_live AS live
    WHERE live.id = g.id AND live.state = 2 AND live.epoch = g.epoch
    OFFSET 0
) AS l

-- name: holders (sqlite)
-- log: who ran executions, whether they have ended or not, with which nonce, and as which attempt.
SELECT g.id, g.epoch, attempt.session, attempt.nonce, attempt.attempt
FROM unnest(:ids::uuid [], :epochs::int4 []) AS g (id, epoch)
CROSS JOIN attempt ON g.id = attempt.task_id AND g.epoch = attempt.epoch
UNION ALL
SELECT g.id, g.epoch, live.session, live.nonce, live.attempt
FROM unnest(:ids::uuid [], :epochs::int4 []) AS g (id, epoch)
CROSS JOIN task_live AS live ON g.id = live.id AND g.epoch = live.epoch
WHERE live.state = 2

-- name: count_ahead
-- count_ahead: the due tasks of a queue that a claim would take before one with this score.
--   :score  due time less a minute for each point of priority
SELECT count(*) AS count
FROM (
    SELECT 1
    FROM drumline.lane
    INNER JOIN drumline.task_live AS live ON lane.id = live.lane
    WHERE
        lane.tenant = :tenant::text
        AND lane.queue = :queue::text
        AND live.due_at < least(
            :score::int8 + lane.priority * 60000,
            coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) + 1
        )
        AND live.state = 1
    LIMIT :limit::int4
) AS before

-- name: queue_lanes
-- queues: the lanes of queues that ever had a task, and a row without a lane for each that is paused.
SELECT lane.tenant, lane.queue, lane.id, lane.name, p.queue IS NOT NULL AS is_paused, p.reason
FROM drumline.lane
LEFT JOIN drumline.queue_pause AS p ON lane.tenant = p.tenant AND lane.queue = p.queue
WHERE (:tenant::text IS NULL OR lane.tenant = :tenant)
UNION ALL
SELECT paused.tenant, paused.queue, NULL, NULL, true, paused.reason
FROM drumline.queue_pause AS paused
WHERE (:tenant IS NULL OR paused.tenant = :tenant)
ORDER BY 1, 2, 3

-- name: count_lanes (postgres)
-- queues: what waits and runs in lanes, by their numbers; NULL means all that have live tasks.
-- Lane by lane and by the indexes alone, except for what is due: of ten million scheduled tasks no row is read. What
-- is due later, or at no time, is not running.
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

timed AS (
    (
        SELECT live.lane FROM drumline.task_live AS live
        WHERE live.due_at IS NOT NULL AND :lanes::int4 [] IS NULL
        ORDER BY live.lane
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT live.lane FROM drumline.task_live AS live
        WHERE live.due_at IS NOT NULL AND live.lane > timed.lane
        ORDER BY live.lane
        LIMIT 1
    )
    FROM timed
    WHERE timed.lane IS NOT NULL
),

untimed AS (
    (
        SELECT live.lane FROM drumline.task_live AS live
        WHERE live.due_at IS NULL AND :lanes::int4 [] IS NULL
        ORDER BY live.lane
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT live.lane FROM drumline.task_live AS live
        WHERE live.due_at IS NULL AND live.lane > untimed.lane
        ORDER BY live.lane
        LIMIT 1
    )
    FROM untimed
    WHERE untimed.lane IS NOT NULL
),

lanes AS (
    SELECT timed.lane FROM timed
    UNION
    SELECT untimed.lane FROM untimed
    UNION
    SELECT g.lane FROM unnest(:lanes::int4 []) AS g (lane)
)

SELECT
    lanes.lane,
    later.count + untold.count AS pending,
    due.queued,
    due.processing,
    due.oldest_due_at
FROM lanes
CROSS JOIN clock
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM drumline.task_live AS live
    WHERE live.lane = lanes.lane AND live.due_at > clock.now
) AS later
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM drumline.task_live AS live
    WHERE live.lane = lanes.lane AND live.due_at IS NULL
) AS untold
CROSS JOIN LATERAL (
    SELECT
        count(*) FILTER (WHERE live.state = 1) AS queued,
        count(*) FILTER (WHERE live.state = 2) AS processing,
        min(live.due_at) FILTER (WHERE live.state = 1) AS oldest_due_at
    FROM drumline.task_live AS live
    WHERE live.lane = lanes.lane AND live.due_at <= clock.now
) AS due
WHERE lanes.lane IS NOT NULL

-- name: count_lanes (sqlite)
-- queues: what waits and runs in lanes, by their numbers; NULL means all.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

SELECT
    live.lane,
    count(*) FILTER (WHERE live.state = 0 OR (live.state = 1 AND live.due_at > (SELECT clock.now FROM clock))) AS pending,
    count(*) FILTER (WHERE live.state = 1 AND live.due_at <= (SELECT clock.now FROM clock)) AS queued,
    count(*) FILTER (WHERE live.state = 2) AS processing,
    min(live.due_at) FILTER (WHERE live.state = 1 AND live.due_at <= (SELECT clock.now FROM clock)) AS oldest_due_at
FROM drumline.task_live AS live
WHERE (:lanes::int4 [] IS NULL OR live.lane = any(:lanes))
GROUP BY live.lane

-- name: last_lane
-- lanes: the highest number that was given; there are not more lanes than that.
SELECT coalesce(max(lane.id), 0) AS last FROM drumline.lane

-- name: count_all_lanes
-- lanes: how many there are.
SELECT count(*) AS number FROM drumline.lane

-- name: count_lanes_of
-- lanes: how many a tenant has.
SELECT count(*) AS number FROM drumline.lane WHERE lane.tenant = :tenant

-- name: existing_lanes
-- lanes: those that have some of these names and some of these queues.
SELECT lane.tenant, lane.queue, lane.name, lane.priority
FROM drumline.lane
WHERE lane.name = any(:names::text []) AND lane.queue = any(:queues::text [])

-- name: find_lanes
-- list: the lanes that a filter means; what is NULL does not narrow.
SELECT lane.id FROM drumline.lane
WHERE
    (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND (:name::text IS NULL OR lane.name = :name)

-- name: find_by_key
-- list: the tasks below :before that an idempotency key belongs to, of every tenant.
SELECT i.task_id FROM drumline.idempotency AS i
WHERE i.key = :key::text AND i.task_id < :before::uuid
ORDER BY i.task_id DESC
LIMIT :limit::int4

-- name: find_by_job
-- list: the newest tasks of a job below :before.
SELECT task_id FROM drumline.job_task
WHERE job_id = :job::uuid AND task_id < :before::uuid
ORDER BY task_id DESC
LIMIT :limit::int4

-- name: find_by_tag (postgres)
-- list: the newest tasks below :before that carry a tag.
SELECT task.id FROM drumline.task
WHERE
    task.options LIKE '%"tags"%'
    AND (task.options::jsonb -> 'tags') ? :tag::text
    AND task.id < :before::uuid
    AND (:lanes::int4 [] IS NULL OR task.lane = any(:lanes))
ORDER BY task.id DESC
LIMIT :limit::int4

-- name: find_by_tag (sqlite)
-- list: the newest tasks below :before that carry a tag.
SELECT task.id FROM task
WHERE
    task.id < :before
    AND EXISTS (SELECT 1 FROM json_each(task.options, '$.tags') WHERE value = :tag)
    AND (:lanes IS NULL OR task.lane = any(:lanes))
ORDER BY task.id DESC
LIMIT :limit

-- name: find_by_worker (postgres)
-- list: the newest tasks below :before that a session holds or has executed.
(
    SELECT given.id
    FROM drumline.claim
    CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
    WHERE claim.session = :session::int8 AND given.id < :before::uuid
    ORDER BY given.id DESC
    LIMIT :limit::int4
)
UNION
(
    SELECT a.task_id FROM drumline.attempt AS a
    WHERE a.session = :session AND a.task_id < :before
    ORDER BY a.task_id DESC, a.epoch DESC
    LIMIT :limit
)
ORDER BY 1 DESC
LIMIT :limit

-- name: find_by_worker (sqlite)
-- list: the newest tasks below :before that a session holds or has executed last.
SELECT id FROM task_view
WHERE id < :before AND session = :session
ORDER BY id DESC
LIMIT :limit

-- name: find_by_state (postgres)
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

-- name: find_by_state (sqlite)
-- list: the newest tasks below :before that are in some states.
--   :live, :completed, :unhappy   which states are asked for
--   :pending, :queued             whether tasks are asked for that are queued for later, or due by :now
--   :lanes                        NULL means every lane
--   :since                        NULL, or the time before which an end does not count
SELECT view.id FROM task_view AS view
WHERE
    view.id < :before
    AND (
        view.state = any(:live)
        OR view.state = any(:completed)
        OR view.state = any(:unhappy)
        OR (:pending AND view.state = 1 AND view.due_at > :now)
        OR (:queued AND view.state = 1 AND view.due_at <= :now)
    )
    AND (:since IS NULL OR view.finished_at >= :since)
    AND (:lanes IS NULL OR (SELECT task.lane FROM task WHERE task.id = view.id) = any(:lanes))
ORDER BY view.id DESC
LIMIT :limit

-- name: find_tasks
-- list: the newest tasks below :before.
SELECT task.id FROM drumline.task
WHERE task.id < :before::uuid
ORDER BY task.id DESC
LIMIT :limit::int4

-- name: find_in_lanes (postgres)
-- list: the newest tasks of some lanes below :before.
SELECT head.id
FROM unnest(:lanes::int4 []) AS l (lane)
CROSS JOIN LATERAL (
    SELECT task.id FROM drumline.task
    WHERE task.lane = l.lane AND task.lane > 0 AND task.id < :before::uuid
    ORDER BY task.id DESC
    LIMIT :limit::int4
) AS head
ORDER BY head.id DESC
LIMIT :limit

-- name: find_in_lanes (sqlite)
-- list: the newest tasks of some lanes below :before.
SELECT task.id FROM task
WHERE task.id < :before AND task.lane = any(:lanes)
ORDER BY task.id DESC
LIMIT :limit

-- name: search_tasks
-- search: the newest tasks from :first up to, and without, :before, with their lanes.
SELECT task.id, task.lane FROM drumline.task
WHERE task.id >= :first::uuid AND task.id < :before::uuid
ORDER BY task.id DESC
LIMIT :limit::int4

-- name: search_in_lanes (postgres)
-- search: the newest tasks of some lanes.
SELECT head.id, head.lane
FROM unnest(:lanes::int4 []) AS l (lane)
CROSS JOIN LATERAL (
    SELECT task.id, task.lane FROM drumline.task
    WHERE task.lane = l.lane AND task.lane > 0 AND task.id >= :first::uuid AND task.id < :before::uuid
    ORDER BY task.id DESC
    LIMIT :limit::int4
) AS head
ORDER BY head.id DESC
LIMIT :limit

-- name: search_in_lanes (sqlite)
-- search: the newest tasks; which are in the lanes is told by the caller, since no index finds them in their order.
SELECT task.id, task.lane FROM task
WHERE task.id >= :first AND task.id < :before AND :lanes IS NOT NULL
ORDER BY task.id DESC
LIMIT :limit

-- name: search_live
-- search: the newest tasks that have not ended.
SELECT live.id, live.lane FROM drumline.task_live AS live
WHERE live.id >= :first::uuid AND live.id < :before::uuid
ORDER BY live.id DESC
LIMIT :limit::int4

-- name: search_unhappy (postgres)
-- search: the newest tasks that may have failed, been cancelled or skipped; they may have been run again since.
--   :outcomes  which of these
SELECT head.task_id, head.lane
FROM unnest(:outcomes::int2 []) AS u (outcome)
CROSS JOIN LATERAL (
    SELECT a.task_id, a.lane FROM drumline.attempt AS a
    WHERE
        a.outcome = u.outcome
        AND a.outcome BETWEEN 4 AND 6
        AND a.task_id >= :first::uuid
        AND a.task_id < :before::uuid
    ORDER BY a.task_id DESC
    LIMIT :limit::int4
) AS head
ORDER BY head.task_id DESC
LIMIT :limit

-- name: search_unhappy (sqlite)
-- search: the newest tasks that may have failed, been cancelled or skipped; they may have been run again since.
--   :outcomes  which of these
SELECT found.task_id, (SELECT task.lane FROM task WHERE task.id = found.task_id) AS lane
FROM (
    SELECT task_id FROM (
        SELECT task_id FROM attempt
        WHERE outcome = 4 AND 4 = any(:outcomes) AND task_id >= :first AND task_id < :before
        ORDER BY task_id DESC LIMIT :limit
    )
    UNION ALL
    SELECT task_id FROM (
        SELECT task_id FROM attempt
        WHERE outcome = 5 AND 5 = any(:outcomes) AND task_id >= :first AND task_id < :before
        ORDER BY task_id DESC LIMIT :limit
    )
    UNION ALL
    SELECT task_id FROM (
        SELECT task_id FROM attempt
        WHERE outcome = 6 AND 6 = any(:outcomes) AND task_id >= :first AND task_id < :before
        ORDER BY task_id DESC LIMIT :limit
    )
) AS found
ORDER BY found.task_id DESC
LIMIT :limit

-- name: search_by_tag (postgres)
-- search: the newest tasks that carry a tag.
SELECT task.id, task.lane FROM drumline.task
WHERE
    task.options LIKE '%"tags"%'
    AND (task.options::jsonb -> 'tags') ? :tag::text
    AND task.id >= :first::uuid
    AND task.id < :before::uuid
ORDER BY task.id DESC
LIMIT :limit::int4

-- name: search_by_tag (sqlite)
-- search: the newest tasks; which carry the tag is told by the caller, since no index finds them.
SELECT task.id, task.lane FROM task
WHERE task.id >= :first AND task.id < :before AND :tag IS NOT NULL
ORDER BY task.id DESC
LIMIT :limit

-- name: search_by_worker (postgres)
-- search: the newest tasks that a session holds or has executed.
SELECT found.id, NULL AS lane
FROM (
    (
        SELECT given.id
        FROM drumline.claim
        CROSS JOIN LATERAL unnest(claim.tasks) AS given (id)
        WHERE claim.session = :session::int8 AND given.id >= :first::uuid AND given.id < :before::uuid
        ORDER BY given.id DESC
        LIMIT :limit::int4
    )
    UNION
    (
        SELECT a.task_id FROM drumline.attempt AS a
        WHERE a.session = :session AND a.task_id >= :first AND a.task_id < :before
        ORDER BY a.task_id DESC, a.epoch DESC
        LIMIT :limit
    )
) AS found
ORDER BY found.id DESC
LIMIT :limit

-- name: search_by_worker (sqlite)
-- search: the newest tasks; which the session has executed is told by the caller, since no index finds them.
SELECT task.id, task.lane FROM task
WHERE task.id >= :first AND task.id < :before AND :session IS NOT NULL
ORDER BY task.id DESC
LIMIT :limit

-- name: search_by_key
-- search: the tasks that an idempotency key belongs to, of every tenant.
SELECT i.task_id, NULL AS lane FROM drumline.idempotency AS i
WHERE i.key = :key::text AND i.task_id >= :first::uuid AND i.task_id < :before::uuid
ORDER BY i.task_id DESC
LIMIT :limit::int4

-- name: search_by_job
-- search: the newest tasks of a job.
SELECT member.task_id, NULL AS lane FROM drumline.job_task AS member
WHERE member.job_id = :job::uuid AND member.task_id >= :first::uuid AND member.task_id < :before::uuid
ORDER BY member.task_id DESC
LIMIT :limit::int4

-- name: search_payloads (postgres)
-- search: the payloads of tasks, but for those that are larger than :largest bytes.
SELECT task.id, task.payload FROM drumline.task
WHERE task.id = any(:ids::uuid []) AND octet_length(task.payload) <= :largest::int4

-- name: search_payloads (sqlite)
-- search: the payloads of tasks, but for those that are larger than :largest bytes.
SELECT task.id, CAST(task.payload AS BLOB) AS payload FROM task
WHERE task.id = any(:ids) AND length(CAST(task.payload AS BLOB)) <= :largest

-- name: lanes_of
-- search: the lanes of a tenant, or all, with their queues, names and priorities; up to :limit.
SELECT lane.id, lane.tenant, lane.queue, lane.name, lane.priority FROM drumline.lane
WHERE (:tenant::text IS NULL OR lane.tenant = :tenant)
LIMIT :limit::int4

-- name: count_live (postgres)
-- count: tasks that have not ended, of each status up to :limit, each by an index of its own.
--   :lanes  NULL means every lane
--   :looked  how many claimed tasks are looked at; old claims name tasks that have ended meanwhile
-- GIVES queued, due later, blocked, processing, and how many claimed tasks were looked at
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

wanted AS MATERIALIZED (
    SELECT lane.id FROM drumline.lane WHERE :lanes::int4 [] IS NULL OR lane.id = any(:lanes)
),

held AS MATERIALIZED (
    SELECT given.id, recent.session, recent.nonce
    FROM (
        SELECT c.session, c.nonce, c.tasks
        FROM drumline.claim AS c
        LEFT JOIN drumline.session AS s ON c.session = s.id
        ORDER BY s.beat - c.beat NULLS LAST
        OFFSET 0
    ) AS recent
    CROSS JOIN LATERAL unnest(recent.tasks) AS given (id)
    LIMIT :looked::int4
)

SELECT
    (
        SELECT count(*) FROM (
            SELECT FROM wanted
            CROSS JOIN LATERAL (
                SELECT FROM drumline.task_live AS l
                WHERE l.lane = wanted.id AND l.due_at <= (SELECT clock.now FROM clock) AND l.state = 1
                LIMIT :limit::int4
            ) AS head
            LIMIT :limit
        ) AS found
    ) AS queued,
    (
        SELECT count(*) FROM (
            SELECT FROM wanted
            CROSS JOIN LATERAL (
                SELECT FROM drumline.task_live AS l
                WHERE l.lane = wanted.id AND l.due_at > (SELECT clock.now FROM clock) AND l.state = 1
                LIMIT :limit
            ) AS head
            LIMIT :limit
        ) AS found
    ) AS later,
    (
        SELECT count(*) FROM (
            SELECT FROM wanted
            CROSS JOIN LATERAL (
                SELECT FROM drumline.task_live AS l
                WHERE l.lane = wanted.id AND l.due_at IS NULL AND l.state = 0
                LIMIT :limit
            ) AS head
            LIMIT :limit
        ) AS found
    ) AS blocked,
    (
        SELECT count(*) FROM held
        CROSS JOIN LATERAL (
            SELECT FROM drumline.task_live AS l
            WHERE
                l.id = held.id
                AND l.state = 2
                AND l.session = held.session
                AND l.nonce = held.nonce
                AND (:lanes IS NULL OR l.lane = any(:lanes))
            OFFSET 0
        ) AS running
    ) AS processing,
    (SELECT count(*) FROM held) AS looked

-- name: count_live (sqlite)
-- Those that run are found by an index: there is no need to look at claims.
WITH wanted AS MATERIALIZED (
    SELECT id FROM lane WHERE :lanes IS NULL OR id = any(:lanes)
)

SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM wanted CROSS JOIN task_live AS live INDEXED BY task_live_ready
            WHERE live.lane = wanted.id AND live.state = 1 AND live.due_at <= :now
            LIMIT :limit
        )
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM wanted CROSS JOIN task_live AS live INDEXED BY task_live_ready
            WHERE live.lane = wanted.id AND live.state = 1 AND live.due_at > :now
            LIMIT :limit
        )
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM wanted CROSS JOIN task_live AS live INDEXED BY task_live_blocked
            WHERE live.lane = wanted.id AND live.state = 0
            LIMIT :limit
        )
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM task_live AS live INDEXED BY task_live_held
            WHERE live.state = 2 AND live.lane IN (SELECT id FROM wanted)
            LIMIT min(:limit, :looked)
        )
    ),
    0

-- name: count_ended (postgres)
-- count: tasks that have ended, by how, among the newest :limit ends of each kind.
--   :lanes  NULL means every lane
-- GIVES outcome, how many, and how many ends were looked at: a task that was retried had an end that no longer counts
WITH ended AS MATERIALIZED (
    (
        SELECT a.task_id, a.epoch, a.lane, a.outcome FROM drumline.attempt AS a
        WHERE a.outcome = 3
        ORDER BY a.task_id DESC, a.epoch DESC
        LIMIT :limit::int4
    )
    UNION ALL
    (
        SELECT head.task_id, head.epoch, head.lane, head.outcome
        FROM unnest('{4,5,6}'::int2 []) AS u (outcome)
        CROSS JOIN LATERAL (
            SELECT a.task_id, a.epoch, a.lane, a.outcome FROM drumline.attempt AS a
            WHERE a.outcome = u.outcome AND a.outcome BETWEEN 4 AND 6
            ORDER BY a.task_id DESC
            LIMIT :limit
        ) AS head
    )
)

SELECT
    ended.outcome,
    count(*) FILTER (
        WHERE (:lanes::int4 [] IS NULL OR ended.lane = any(:lanes))
        AND NOT EXISTS (SELECT 1 FROM drumline.task_live AS live WHERE live.id = ended.task_id)
        AND NOT EXISTS (
            SELECT 1 FROM drumline.attempt AS later WHERE later.task_id = ended.task_id AND later.epoch > ended.epoch
        )
    ) AS found,
    count(*) AS looked
FROM ended
GROUP BY ended.outcome

-- name: count_ended (sqlite)
WITH ended AS MATERIALIZED (
    SELECT * FROM (
        SELECT task_id, epoch, outcome FROM attempt WHERE outcome = 3 ORDER BY task_id DESC LIMIT :limit
    )
    UNION ALL
    SELECT * FROM (
        SELECT task_id, epoch, outcome FROM attempt WHERE outcome = 4 ORDER BY task_id DESC LIMIT :limit
    )
    UNION ALL
    SELECT * FROM (
        SELECT task_id, epoch, outcome FROM attempt WHERE outcome = 5 ORDER BY task_id DESC LIMIT :limit
    )
    UNION ALL
    SELECT * FROM (
        SELECT task_id, epoch, outcome FROM attempt WHERE outcome = 6 ORDER BY task_id DESC LIMIT :limit
    )
)

SELECT
    ended.outcome,
    count(*) FILTER (
        WHERE (
            :lanes IS NULL
            OR EXISTS (SELECT 1 FROM task WHERE task.id = ended.task_id AND task.lane = any(:lanes))
        )
        AND NOT EXISTS (SELECT 1 FROM task_live AS live WHERE live.id = ended.task_id)
        AND NOT EXISTS (
            SELECT 1 FROM attempt AS later WHERE later.task_id = ended.task_id AND later.epoch > ended.epoch
        )
    ),
    count(*)
FROM ended
GROUP BY ended.outcome
