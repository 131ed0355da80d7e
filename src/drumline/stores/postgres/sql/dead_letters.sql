-- name: write_dead_letters
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

-- name: drop_dead_letters
-- retry, discard, prune: drop the dead letters of tasks, if they have any, and count them to their causes no more.
-- Why they died stays with the attempts that failed: a dead letter may be told of after it is gone.
--   locks  causes in the order of (lane, fingerprint)
WITH gone AS (
    DELETE FROM drumline.dead_letter WHERE dead_letter.task_id = any(:ids::uuid [])
    RETURNING dead_letter.task_id, dead_letter.epoch, dead_letter.cause, dead_letter.reason
),

remembered AS (
    UPDATE drumline.attempt AS a
    SET reason = (SELECT gone.reason FROM gone WHERE gone.task_id = a.task_id)
    WHERE a.task_id = any(:ids) AND a.epoch = (SELECT gone.epoch FROM gone WHERE gone.task_id = a.task_id)
),

counts AS MATERIALIZED (
    SELECT gone.cause, count(*) AS count FROM gone GROUP BY gone.cause
),

locked AS MATERIALIZED (
    SELECT c.id FROM drumline.cause AS c
    WHERE c.id = any(ARRAY(SELECT counts.cause FROM counts))
    ORDER BY c.lane + 0, c.fingerprint -- not by the index that has this order, which would be read whole
    FOR UPDATE
)

UPDATE drumline.cause AS c
SET count = c.count - (SELECT counts.count FROM counts WHERE counts.cause = c.id)
WHERE c.id = any(ARRAY(SELECT locked.id FROM locked))
