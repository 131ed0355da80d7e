-- dead letters: those of tasks.
SELECT
    d.task_id, c.lane, d.at, d.epoch, d.reason, c.fingerprint, c.kind, d.message, d.attempts, d.job_id
FROM drumline.dead_letter AS d
CROSS JOIN LATERAL (
    SELECT cause.lane, cause.fingerprint, cause.kind FROM drumline.cause WHERE cause.id = d.cause OFFSET 0
) AS c
WHERE d.task_id = any(:ids::uuid [])
