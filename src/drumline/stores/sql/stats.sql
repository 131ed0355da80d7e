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
-- sample depth: how many tasks of each lane are due and wait.
SELECT live.lane, count(*) AS count
FROM drumline.task_live AS live
WHERE live.state = 1 AND live.due_at <= :now::int8
GROUP BY live.lane

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

-- name: prune_stats
-- prune stats: drop the figures of one width from before a time.
DELETE FROM drumline.stat AS s WHERE s.step = :step::int4 AND s.at < :before::int8
RETURNING s.at

-- name: prune_depth
-- prune stats: drop the samples of how many tasks waited, of one width, from before a time.
DELETE FROM drumline.depth AS d WHERE d.step = :step::int4 AND d.at < :before::int8
RETURNING d.at
