-- gather stats: count what the rows behind a position say, by lane, in buckets of each width.
--   :bounds   the upper bounds of the classes of durations
--   :steps    the widths of the buckets
--   :acts     what is counted, as :measures in the same places
WITH told AS MATERIALIZED (
    SELECT o.at, e.task, e.act, e.epoch
    FROM drumline.outbox AS o
    CROSS JOIN LATERAL unnest(o.tasks, o.acts, o.epochs) AS e (task, act, epoch)
    WHERE o.position > :after::int8 AND o.position <= :until::int8 AND e.act = any(:acts::int2 [])
),

known AS MATERIALIZED (
    SELECT
        t.at, t.act, wide.lane,
        CASE
            WHEN t.act <> :submit::int2 AND past.attempt = 1 AND past.started_at IS NOT NULL
                THEN greatest(0, past.started_at - wide.due_at)
        END AS wait,
        CASE WHEN t.act <> :submit THEN past.finished_at - past.started_at END AS run
    FROM told AS t
    CROSS JOIN LATERAL (
        SELECT task.lane, task.due_at FROM drumline.task WHERE task.id = t.task OFFSET 0
    ) AS wide
    LEFT JOIN LATERAL (
        SELECT attempt.attempt, attempt.started_at, attempt.finished_at
        FROM drumline.attempt
        WHERE t.act <> :submit AND attempt.task_id = t.task AND attempt.epoch = t.epoch
        OFFSET 0
    ) AS past ON true
),

figures AS (
    SELECT k.at, k.lane, m.measure, m.duration
    FROM known AS k
    CROSS JOIN LATERAL (
        VALUES
        ((:measures::int2 [])[array_position(:acts, k.act)], 0),
        (:wait_measure::int2, width_bucket(k.wait::float8, (:bounds::float8 []))),
        (:run_measure::int2, width_bucket(k.run::float8, :bounds))
    ) AS m (measure, duration)
    WHERE m.duration IS NOT NULL
)

INSERT INTO drumline.stat AS s (step, at, lane, measure, duration, count)
SELECT w.step, f.at - f.at % w.step, f.lane, f.measure, f.duration::int2, count(*)
FROM figures AS f
CROSS JOIN unnest(:steps::int4 []) AS w (step)
GROUP BY 1, 2, 3, 4, 5
ORDER BY 1, 2, 3, 4, 5
ON CONFLICT (step, at, lane, measure, duration) DO UPDATE SET count = s.count + excluded.count
