-- name: stats_span
-- gather stats: the last of the next rows of the log, and how many they are.
SELECT max(o.position) AS last, count(*) AS count
FROM (
    SELECT log.position FROM drumline.outbox AS log
    WHERE log.position > :after::int8
    ORDER BY log.position
    LIMIT :limit::int4
) AS o

-- name: gather_stats
-- gather stats: count what the rows behind a position say, by lane, in buckets of each width.
--   :bounds   the upper bounds of the classes of durations
--   :steps    the widths of the buckets, each a multiple of the first; 0 for one bucket of all time
--   :acts     what is counted, as :measures in the same places; what leaves a task running (2) only asked for it
-- Tasks are counted before anything is made of them: hundreds of thousands come to a few rows. Rows that say the lanes
-- of their tasks, and how long those took if they ended, say all that is needed; of others the attempts say the rest.
-- GIVES what was counted, by queue and name, whatever the bucket: with the sum of the durations in milliseconds.
WITH told AS MATERIALIZED (
    SELECT o.at - o.at % (:steps::int4 [])[1] AS at, o.lane, e.task, e.act, e.epoch
    FROM drumline.outbox AS o
    CROSS JOIN LATERAL unnest(o.tasks, o.acts, o.states, o.epochs) AS e (task, act, state, epoch)
    WHERE
        o.position > :after::int8
        AND o.position <= :until::int8
        AND o.acts && :acts::int2 []
        AND (coalesce(o.lane, o.lanes[1]) IS NULL OR (o.runs IS NULL AND o.acts[1] <> :submit::int2))
        AND e.act = any(:acts)
        AND e.state <> 2
),

-- Lists side by side as columns of a SELECT: as a table they would be written down first.
ended AS MATERIALIZED (
    SELECT e.at, e.act, coalesce(e.lane, e.one) AS lane, e.wait, e.run, count(*) AS count
    FROM (
        SELECT
            o.at - o.at % (:steps)[1] AS at, o.lane, unnest(o.lanes) AS one,
            unnest(o.acts) AS act, unnest(o.waits) AS wait, unnest(o.runs) AS run
        FROM drumline.outbox AS o
        WHERE
            o.position > :after AND o.position <= :until
            AND coalesce(o.lane, o.lanes[1]) IS NOT NULL AND o.runs IS NOT NULL
    ) AS e
    WHERE e.act = any(:acts)
    GROUP BY 1, 2, 3, 4, 5
),

submitted AS MATERIALIZED (
    SELECT b.at, coalesce(b.lane, b.one) AS lane, sum(b.count) AS count
    FROM (
        SELECT
            o.at - o.at % (:steps)[1] AS at, o.lane, unnest(coalesce(o.lanes, ARRAY[o.lane])) AS one,
            CASE WHEN o.lanes IS NULL THEN cardinality(o.tasks) ELSE 1 END AS count
        FROM drumline.outbox AS o
        WHERE
            o.position > :after AND o.position <= :until
            AND coalesce(o.lane, o.lanes[1]) IS NOT NULL AND o.acts[1] = :submit AND :submit = any(:acts)
    ) AS b
    GROUP BY 1, 2
),

counted AS MATERIALIZED (
    SELECT s.at, :submit AS act, s.lane, NULL::int4 AS wait, NULL::int4 AS run, 0 AS wait_ms, 0 AS run_ms, s.count
    FROM submitted AS s
    UNION ALL
    SELECT
        e.at, e.act, e.lane,
        width_bucket(e.wait::float8, :bounds::float8 []) AS wait, width_bucket(e.run::float8, :bounds) AS run,
        e.wait * e.count AS wait_ms, e.run * e.count AS run_ms, e.count
    FROM ended AS e
    UNION ALL
    SELECT e.at, e.act, e.lane, e.wait, e.run, sum(e.wait_ms) AS wait_ms, sum(e.run_ms) AS run_ms, count(*) AS count
    FROM (
        SELECT
            t.at, t.act, coalesce(t.lane, wide.lane) AS lane,
            CASE
                WHEN past.attempt = 1 AND past.started_at IS NOT NULL
                    THEN width_bucket(
                        greatest(0, past.started_at - coalesce(past.due_at, wide.due_at))::float8, :bounds
                    )
            END AS wait,
            width_bucket((past.finished_at - past.started_at)::float8, :bounds) AS run,
            greatest(0, past.started_at - coalesce(past.due_at, wide.due_at)) AS wait_ms,
            past.finished_at - past.started_at AS run_ms
        FROM told AS t
        LEFT JOIN LATERAL (
            SELECT attempt.attempt, attempt.due_at, attempt.started_at, attempt.finished_at
            FROM drumline.attempt
            WHERE t.act <> :submit AND attempt.task_id = t.task AND attempt.epoch = t.epoch
            OFFSET 0
        ) AS past ON true
        LEFT JOIN LATERAL (
            SELECT task.lane, task.due_at
            FROM drumline.task
            WHERE (t.lane IS NULL OR past.due_at IS NULL) AND task.id = t.task
            OFFSET 0
        ) AS wide ON true
    ) AS e
    WHERE e.lane IS NOT NULL -- else the task is gone
    GROUP BY e.at, e.act, e.lane, e.wait, e.run
),

figures AS MATERIALIZED (
    SELECT c.at, c.lane, m.measure, m.duration, c.count, m.ms
    FROM counted AS c
    CROSS JOIN LATERAL (
        VALUES
        ((:measures::int2 [])[array_position(:acts, c.act)], 0, 0),
        (:wait_measure::int2, c.wait, c.wait_ms),
        (:run_measure::int2, c.run, c.run_ms)
    ) AS m (measure, duration, ms)
    WHERE m.duration IS NOT NULL
),

written AS (
    INSERT INTO drumline.stat AS s (step, at, lane, measure, duration, count, total_ms)
    SELECT
        w.step, coalesce(f.at - f.at % nullif(w.step, 0), 0), f.lane, f.measure, f.duration::int2, sum(f.count),
        CASE WHEN w.step = 0 THEN coalesce(sum(f.ms), 0) ELSE 0 END
    FROM figures AS f
    CROSS JOIN unnest(:steps) AS w (step)
    GROUP BY 1, 2, 3, 4, 5
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (step, at, lane, measure, duration) DO UPDATE
    SET count = s.count + excluded.count, total_ms = s.total_ms + excluded.total_ms
)

SELECT
    lane.queue, lane.name, f.measure, f.duration,
    sum(f.count)::int8 AS count, coalesce(sum(f.ms), 0)::int8 AS total_ms
FROM figures AS f
INNER JOIN drumline.lane ON f.lane = lane.id
GROUP BY lane.queue, lane.name, f.measure, f.duration

-- name: stats_until
-- gather stats: everything up to this place is counted.
UPDATE drumline.event_cursor AS c
SET position = :until::int8, moved_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE c.consumer = :consumer::text
