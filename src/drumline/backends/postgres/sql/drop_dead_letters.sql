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
