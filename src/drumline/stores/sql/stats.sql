-- name: read_stats
-- stats: the figures of a stretch of time, summed over the lanes that are asked for.
SELECT s.at, s.measure, s.duration, sum(s.count)::int8 AS count
FROM drumline.stat AS s
INNER JOIN drumline.lane ON s.lane = lane.id
WHERE
    s.step = :step::int4
    AND s.at >= :since::int8
    AND s.at < :until::int8
    AND (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND (:name::text IS NULL OR lane.name = :name)
GROUP BY s.at, s.measure, s.duration

-- name: read_durations
-- durations: how long tasks of some names waited and ran in a stretch of time.
SELECT lane.name, s.measure, s.duration, sum(s.count)::int8 AS count
FROM drumline.stat AS s
INNER JOIN drumline.lane ON s.lane = lane.id
WHERE
    s.step = :step::int4
    AND s.at >= :since::int8
    AND s.at < :until::int8
    AND s.measure IN (20, 21)
    AND (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND lane.name IN (SELECT g.name FROM unnest(:names::text []) AS g (name))
GROUP BY lane.name, s.measure, s.duration

-- name: total_stats
-- stats: what happened since the beginning, by queue and name, whatever the tenant.
SELECT lane.queue, lane.name, s.measure, s.duration, sum(s.count)::int8 AS count, sum(s.total_ms)::int8 AS total_ms
FROM drumline.stat AS s
INNER JOIN drumline.lane ON s.lane = lane.id
WHERE s.step = 0
GROUP BY lane.queue, lane.name, s.measure, s.duration

-- name: read_depth
-- depth: how many tasks waited in a stretch of time, summed over the lanes that are asked for and over the samples.
-- GIVES the buckets in which samples were taken, with how many those were
SELECT
    d.at,
    coalesce(sum(d.total) FILTER (WHERE d.lane > 0), 0)::int8 AS total,
    sum(d.total) FILTER (WHERE d.lane = 0)::int8 AS samples
FROM drumline.depth AS d
LEFT JOIN drumline.lane ON d.lane = lane.id
WHERE
    d.step = :step::int4
    AND d.at >= :since::int8
    AND d.at < :until::int8
    AND (
        d.lane = 0
        OR (
            lane.id IS NOT NULL
            AND (:tenant::text IS NULL OR lane.tenant = :tenant)
            AND (:queue::text IS NULL OR lane.queue = :queue)
            AND (:name::text IS NULL OR lane.name = :name)
        )
    )
GROUP BY d.at

-- name: depth_due
-- sample depth: the time, unless a sample was taken in the last :apart milliseconds.
--   :step  the width of the narrowest buckets
SELECT clock.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
WHERE NOT EXISTS (
    SELECT 1 FROM drumline.depth AS d
    WHERE
        d.step = :step::int4
        AND d.at > clock.now - :apart::int8 - :step
        AND d.at <= clock.now
        AND d.lane = 0
        AND d.sampled_at > clock.now - :apart
)

-- name: count_waiting (postgres)
-- sample depth: how many tasks of each lane are due and wait. Lane by lane: what is due later is not read.
WITH RECURSIVE lanes AS (
    (SELECT live.lane FROM drumline.task_live AS live WHERE live.due_at IS NOT NULL ORDER BY live.lane LIMIT 1)
    UNION ALL
    SELECT (
        SELECT live.lane FROM drumline.task_live AS live
        WHERE live.due_at IS NOT NULL AND live.lane > lanes.lane
        ORDER BY live.lane
        LIMIT 1
    )
    FROM lanes
    WHERE lanes.lane IS NOT NULL
)

SELECT lanes.lane, due.count
FROM lanes
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM drumline.task_live AS live
    WHERE live.lane = lanes.lane AND live.due_at <= :now::int8 AND live.state = 1
) AS due
WHERE due.count > 0

-- name: count_waiting (sqlite)
-- By the index alone.
-- GIVES one JSON list of [lane, count]
SELECT json_group_array(json_array(lane, count))
FROM (
    SELECT lane.id AS lane, count(*) AS count
    FROM lane
    CROSS JOIN task_live AS live
    WHERE live.lane = lane.id AND live.state = 1 AND live.due_at <= :now
    GROUP BY lane.id
)

-- name: add_depth
-- sample depth: add counts to the sums. In one order for everybody: two that sample at once never wait in a circle.
INSERT INTO drumline.depth AS d (step, at, lane, total, sampled_at)
SELECT g.step, g.at, g.lane, g.count, :now::int8
FROM unnest(:steps::int4 [], :times::int8 [], :lanes::int4 [], :counts::int8 []) AS g (step, at, lane, count)
WHERE true
ORDER BY g.step, g.at, g.lane
ON CONFLICT (step, at, lane) DO UPDATE
SET total = d.total + excluded.total, sampled_at = greatest(d.sampled_at, excluded.sampled_at)

-- name: oldest_due (postgres)
-- stats: when the task of some lanes was due that has been due for longest. One look at the index for each lane.
SELECT min(first.due_at) AS due_at
FROM drumline.lane
CROSS JOIN LATERAL (
    SELECT live.due_at FROM drumline.task_live AS live
    WHERE live.lane = lane.id AND live.due_at IS NOT NULL AND live.state = 1
    ORDER BY live.due_at
    LIMIT 1
) AS first
WHERE
    first.due_at <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
    AND (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND (:name::text IS NULL OR lane.name = :name)

-- name: oldest_due (sqlite)
SELECT min(first.due_at)
FROM (
    SELECT (SELECT live.due_at FROM task_live AS live WHERE live.lane = lane.id AND live.state = 1 AND live.due_at > 0
            ORDER BY live.due_at LIMIT 1) AS due_at
    FROM lane
    WHERE
        (:tenant IS NULL OR lane.tenant = :tenant)
        AND (:queue IS NULL OR lane.queue = :queue)
        AND (:name IS NULL OR lane.name = :name)
) AS first
WHERE first.due_at <= :now

-- name: oldest_fire
-- stats: of the fires from :since on that have not begun, when the one was due that has been due for longest: fires that
-- no run was made for, runs that wait for the one before, and runs whose task or job no worker has begun. Runs that
-- people asked for do not count.
SELECT min(w.at) AS at
FROM (
    SELECT live.due_at AS at
    FROM drumline.schedule AS s
    INNER JOIN drumline.schedule_live AS live ON s.id = live.id
    WHERE
        (:tenant::text IS NULL OR s.tenant = :tenant)
        AND (:schedule::text IS NULL OR s.name = :schedule)
    UNION ALL
    SELECT
        CASE
            WHEN run.state = 1 THEN run.fire_time
            WHEN run.job_id IS NOT NULL THEN run.created_at
            ELSE task.due_at
        END AS at
    FROM drumline.schedule AS s
    INNER JOIN drumline.schedule_run AS run ON s.id = run.schedule_id
    LEFT JOIN drumline.task_live AS task ON run.task_id = task.id AND task.state = 1 AND task.epoch = 0
    LEFT JOIN drumline.job ON run.job_id = job.id AND job.started_at IS NULL AND job.finished_at IS NULL
    WHERE
        (:tenant::text IS NULL OR s.tenant = :tenant)
        AND (:schedule::text IS NULL OR s.name = :schedule)
        AND run.fire_time >= :since::int8
        AND run.kind <= 1 -- scheduled, or made up for
        AND ((run.state = 1 AND run.start_at IS NULL) OR (run.state = 0 AND (task.id IS NOT NULL OR job.id IS NOT NULL)))
) AS w
WHERE w.at <= coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)

-- name: prune_stats
-- prune stats: drop the figures of one width from before a time.
DELETE FROM drumline.stat AS s WHERE s.step = :step::int4 AND s.at < :before::int8
RETURNING s.at

-- name: prune_depth
-- prune stats: drop the samples of how many tasks waited, of one width, from before a time.
DELETE FROM drumline.depth AS d WHERE d.step = :step::int4 AND d.at < :before::int8
RETURNING d.at
