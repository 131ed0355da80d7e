-- sample depth: add how many tasks of each lane are due and wait to the sums of now, and to lane 0 that it was done.
-- Nothing is counted if somebody has done so in the last :apart milliseconds.
--   :steps  the widths of the buckets
-- GIVES a row if it was done
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

due AS MATERIALIZED (
    SELECT clock.now
    FROM clock
    WHERE NOT EXISTS (
        SELECT FROM drumline.depth AS d
        WHERE
            d.step = (:steps::int4 [])[1]
            AND d.at > clock.now - :apart::int8 - d.step
            AND d.at <= clock.now
            AND d.lane = 0
            AND d.sampled_at > clock.now - :apart
    )
),

counted AS MATERIALIZED (
    SELECT waiting.lane, waiting.count
    FROM due
    CROSS JOIN LATERAL (
        SELECT live.lane, count(*) AS count
        FROM drumline.task_live AS live
        WHERE live.state = 1 AND live.due_at <= due.now
        GROUP BY live.lane
    ) AS waiting
    UNION ALL
    SELECT 0, 1 FROM due
),

-- In one order for everybody: two that sample at once wait for one another, and never in a circle.
written AS (
    INSERT INTO drumline.depth AS d (step, at, lane, total, sampled_at)
    SELECT w.step, due.now - due.now % w.step, c.lane, c.count, due.now
    FROM due
    CROSS JOIN counted AS c
    CROSS JOIN unnest(:steps) AS w (step)
    ORDER BY 1, 2, 3
    ON CONFLICT (step, at, lane) DO UPDATE
    SET total = d.total + excluded.total, sampled_at = greatest(d.sampled_at, excluded.sampled_at)
)

SELECT due.now FROM due
