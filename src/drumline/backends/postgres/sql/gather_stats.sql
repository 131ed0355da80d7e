-- gather stats: count what the rows behind a position say, by lane, in buckets of each width.
--   :bounds   the upper bounds of the classes of durations
--   :steps    the widths of the buckets, each a multiple of the first
--   :acts     what is counted, as :measures in the same places
-- Tasks are looked up one by one, but counted before anything is made of them: hundreds of thousands come to a few rows.
WITH told AS MATERIALIZED (
    SELECT o.at - o.at % (:steps::int4 [])[1] AS at, e.task, e.act, e.epoch
    FROM drumline.outbox AS o
    CROSS JOIN LATERAL unnest(o.tasks, o.acts, o.epochs) AS e (task, act, epoch)
    WHERE
        o.position > :after::int8 AND o.position <= :until::int8
        AND o.acts && :acts::int2 [] AND e.act = any(:acts)
),

counted AS MATERIALIZED (
    SELECT b.at, b.act, b.lane, 0 AS wait, 0 AS run, count(*) AS count
    FROM (
        SELECT t.at, t.act, wide.lane
        FROM told AS t
        CROSS JOIN LATERAL (SELECT task.lane FROM drumline.task WHERE task.id = t.task OFFSET 0) AS wide
        WHERE t.act = :submit::int2
    ) AS b
    GROUP BY b.at, b.act, b.lane
    UNION ALL
    SELECT e.at, e.act, e.lane, e.wait, e.run, count(*) AS count
    FROM (
        SELECT
            t.at, t.act, wide.lane,
            CASE
                WHEN past.attempt = 1 AND past.started_at IS NOT NULL
                    THEN width_bucket(greatest(0, past.started_at - wide.due_at)::float8, (:bounds::float8 []))
            END AS wait,
            width_bucket((past.finished_at - past.started_at)::float8, :bounds) AS run
        FROM told AS t
        CROSS JOIN LATERAL (
            SELECT task.lane, task.due_at FROM drumline.task WHERE task.id = t.task OFFSET 0
        ) AS wide
        LEFT JOIN LATERAL (
            SELECT attempt.attempt, attempt.started_at, attempt.finished_at
            FROM drumline.attempt
            WHERE attempt.task_id = t.task AND attempt.epoch = t.epoch
            OFFSET 0
        ) AS past ON true
        WHERE t.act <> :submit
    ) AS e
    GROUP BY e.at, e.act, e.lane, e.wait, e.run
),

figures AS (
    SELECT c.at, c.lane, m.measure, m.duration, c.count
    FROM counted AS c
    CROSS JOIN LATERAL (
        VALUES
        ((:measures::int2 [])[array_position(:acts, c.act)], 0),
        (:wait_measure::int2, CASE WHEN c.act <> :submit THEN c.wait END),
        (:run_measure::int2, CASE WHEN c.act <> :submit THEN c.run END)
    ) AS m (measure, duration)
    WHERE m.duration IS NOT NULL
)

INSERT INTO drumline.stat AS s (step, at, lane, measure, duration, count)
SELECT w.step, f.at - f.at % w.step, f.lane, f.measure, f.duration::int2, sum(f.count)
FROM figures AS f
CROSS JOIN unnest(:steps) AS w (step)
GROUP BY 1, 2, 3, 4, 5
ORDER BY 1, 2, 3, 4, 5
ON CONFLICT (step, at, lane, measure, duration) DO UPDATE SET count = s.count + excluded.count
