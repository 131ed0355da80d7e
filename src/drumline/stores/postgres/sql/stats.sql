-- name: count_live
-- count: tasks that have not ended, of each status up to :limit, each by an index of its own.
--   :lanes   NULL means every lane
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

-- name: count_ended
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

-- name: sample_depth
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

-- name: prune_stats
-- prune stats: drop the figures of one width from before a time.
WITH depth AS (
    DELETE FROM drumline.depth AS d WHERE d.step = :step::int4 AND d.at < :before::int8
    RETURNING d.at
),

stat AS (
    DELETE FROM drumline.stat AS s WHERE s.step = :step AND s.at < :before
    RETURNING s.at
)

SELECT (SELECT count(*) FROM depth) + (SELECT count(*) FROM stat) AS count
