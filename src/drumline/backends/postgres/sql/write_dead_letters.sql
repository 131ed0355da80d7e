-- fail: write the dead letters of attempts that this transaction has recorded, and count them to their causes.
--   :ids …  arrays of equal length, each task once
--   locks   causes in the order of (lane, fingerprint)
WITH given AS MATERIALIZED (
    SELECT g.id, g.epoch, g.reason, g.fingerprint, g.kind, g.message, g.said, a.lane, a.attempt, a.finished_at
    FROM
        unnest(
            :ids::uuid [], :epochs::int4 [], :reasons::text [], :fingerprints::text [], :kinds::text [],
            :messages::text [], :said::text []
        ) AS g (id, epoch, reason, fingerprint, kind, message, said)
    CROSS JOIN LATERAL (
        SELECT attempt.lane, attempt.attempt, attempt.finished_at
        FROM drumline.attempt
        WHERE attempt.task_id = g.id AND attempt.epoch = g.epoch
        OFFSET 0
    ) AS a
),

counted AS (
    INSERT INTO drumline.cause AS c (lane, fingerprint, kind, message, count, first_at, last_at)
    SELECT g.lane, g.fingerprint, min(g.kind), min(g.message), count(*), min(g.finished_at), max(g.finished_at)
    FROM given AS g
    GROUP BY g.lane, g.fingerprint
    ORDER BY g.lane, g.fingerprint
    ON CONFLICT (lane, fingerprint) DO UPDATE
    SET count = c.count + excluded.count, last_at = greatest(c.last_at, excluded.last_at)
    RETURNING c.id, c.lane, c.fingerprint
)

INSERT INTO drumline.dead_letter (task_id, at, cause, epoch, attempts, reason, message, job_id, tags)
SELECT
    g.id, g.finished_at, c.id, g.epoch, g.attempt, g.reason, g.said,
    (SELECT t.job_id FROM drumline.job_task AS t WHERE t.task_id = g.id),
    (SELECT task.options::jsonb -> 'tags' FROM drumline.task WHERE task.id = g.id)
FROM given AS g
INNER JOIN counted AS c ON g.lane = c.lane AND g.fingerprint = c.fingerprint
