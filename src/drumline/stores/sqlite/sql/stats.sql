-- name: count_live
-- count: tasks that have not ended, of each status up to :limit, each by an index of its own; what is NULL does not
-- narrow.
-- GIVES queued, due later, blocked, processing
WITH wanted AS MATERIALIZED (
    SELECT id FROM lane
    WHERE (:tenant IS NULL OR tenant = :tenant) AND (:queue IS NULL OR queue = :queue) AND (:name IS NULL OR name = :name)
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
            LIMIT :limit
        )
    )

-- name: count_ended
-- count: tasks that ended in one way, among the newest :limit such ends; what is NULL does not narrow.
--   :outcome  how they ended
-- GIVES how many there are, and how many ends were looked at: a task that was retried had an end that no longer counts
SELECT
    count(CASE
        WHEN
            (:tenant IS NULL AND :queue IS NULL AND :name IS NULL OR EXISTS (
                SELECT 1 FROM task
                INNER JOIN lane ON task.lane = lane.id
                WHERE
                    task.id = ended.task_id
                    AND (:tenant IS NULL OR lane.tenant = :tenant)
                    AND (:queue IS NULL OR lane.queue = :queue)
                    AND (:name IS NULL OR lane.name = :name)
            ))
            AND NOT EXISTS (SELECT 1 FROM task_live WHERE task_live.id = ended.task_id)
            AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.task_id = ended.task_id AND attempt.epoch > ended.epoch)
            THEN 1
    END),
    count(*)
FROM (
    SELECT task_id, epoch FROM attempt
    WHERE outcome = :outcome
    ORDER BY task_id DESC
    LIMIT :limit
) AS ended

-- name: stats_until
-- gather stats: everything up to this place is counted, unless somebody else was faster.
UPDATE event_cursor SET position = :until, moved_at = :now WHERE consumer = :consumer AND position = :after

-- name: add_stats
-- gather stats: add counts, given as a list of [step, at, lane, measure, duration, count, total_ms].
INSERT INTO stat (step, at, lane, measure, duration, count, total_ms)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(:batch)
WHERE true
ON CONFLICT (step, at, lane, measure, duration) DO UPDATE
SET count = count + excluded.count, total_ms = total_ms + excluded.total_ms

-- name: read_stats
-- stats: the figures of a stretch of time, summed over the lanes that are asked for.
SELECT stat.at, stat.measure, stat.duration, sum(stat.count)
FROM stat
INNER JOIN lane ON stat.lane = lane.id
WHERE
    stat.step = :step
    AND stat.at >= :since
    AND stat.at < :until
    AND (:tenant IS NULL OR lane.tenant = :tenant)
    AND (:queue IS NULL OR lane.queue = :queue)
    AND (:name IS NULL OR lane.name = :name)
GROUP BY stat.at, stat.measure, stat.duration

-- name: total_stats
-- stats: what happened since the beginning, by queue and name, whatever the tenant.
SELECT lane.queue, lane.name, stat.measure, stat.duration, sum(stat.count), sum(stat.total_ms)
FROM stat
INNER JOIN lane ON stat.lane = lane.id
WHERE stat.step = 0
GROUP BY lane.queue, lane.name, stat.measure, stat.duration

-- name: add_depth
-- sample depth: add counts, given as a list of [step, at, lane, count], to the sums.
INSERT INTO depth (step, at, lane, total, sampled_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, :now FROM json_each(:batch)
WHERE true
ON CONFLICT (step, at, lane) DO UPDATE
SET total = total + excluded.total, sampled_at = max(sampled_at, excluded.sampled_at)

-- name: read_depth
-- depth: how many tasks waited in a stretch of time, summed over the lanes that are asked for and over the samples.
-- GIVES the buckets in which samples were taken, with how many those were
SELECT
    depth.at,
    sum(CASE WHEN depth.lane > 0 THEN depth.total ELSE 0 END),
    sum(CASE WHEN depth.lane = 0 THEN depth.total ELSE 0 END)
FROM depth
LEFT JOIN lane ON depth.lane = lane.id
WHERE
    depth.step = :step
    AND depth.at >= :since
    AND depth.at < :until
    AND (
        depth.lane = 0
        OR (
            lane.id IS NOT NULL
            AND (:tenant IS NULL OR lane.tenant = :tenant)
            AND (:queue IS NULL OR lane.queue = :queue)
            AND (:name IS NULL OR lane.name = :name)
        )
    )
GROUP BY depth.at

-- name: prune_stats
-- prune stats: drop the figures of one width from before a time.
DELETE FROM stat WHERE step = :step AND at < :before

-- name: prune_depth
-- prune stats: drop what is known of how many waited, of one width, from before a time.
DELETE FROM depth WHERE step = :step AND at < :before

-- name: depth_sampled
-- sample depth: whether somebody has done so in the last :apart milliseconds.
SELECT
    EXISTS (
        SELECT 1 FROM depth
        WHERE
            step = :step
            AND at > :now - :apart - :step
            AND at <= :now
            AND lane = 0
            AND sampled_at > :now - :apart
    )

-- name: count_waiting
-- sample depth: how many tasks of each lane are due and wait, by the index alone.
-- GIVES a list of [lane, count]; lanes in which none waits are left out
SELECT json_group_array(json_array(lane, count))
FROM (
    SELECT lane.id AS lane, count(*) AS count
    FROM lane
    CROSS JOIN task_live AS live
    WHERE live.lane = lane.id AND live.state = 1 AND live.due_at <= :now
    GROUP BY lane.id
)

-- name: stats_span
-- gather stats: the last of the next rows of the log, and how many they are.
SELECT max(seq), count(*) FROM (SELECT seq FROM outbox WHERE seq > :after ORDER BY seq LIMIT :limit)

-- name: stat_acts
-- gather stats: what the rows of a stretch of the log say, with the times that durations are made of.
-- What leaves a task running (2) only asked it to stop: it is counted when it does.
-- GIVES a list of [at, act, lane, due_at, attempt, started_at, finished_at]
SELECT
    json_group_array(
        json_array(o.at, act.value ->> 1, task.lane, task.due_at, past.attempt, past.started_at, past.finished_at)
    )
FROM outbox AS o
INNER JOIN json_each(o.events) AS act
INNER JOIN task ON task.id = act.value ->> 0
LEFT JOIN attempt AS past
    ON act.value ->> 1 <> 'submit' AND past.task_id = task.id AND past.epoch = act.value ->> 3
WHERE
    o.seq > :after
    AND o.seq <= :until
    AND act.value ->> 1 IN (SELECT value FROM json_each(:acts))
    AND act.value ->> 2 <> 2
