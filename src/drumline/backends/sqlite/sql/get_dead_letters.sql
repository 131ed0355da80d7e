-- dead letters: those of tasks.
--   :ids     JSON list
--   :tenant  NULL means every tenant
SELECT
    dead.task_id, lane.tenant, lane.queue, lane.name, lane.priority, dead.at, dead.epoch, dead.reason,
    cause.fingerprint, cause.kind, dead.message, dead.attempts, dead.job_id
FROM json_each(:ids) AS given
INNER JOIN dead_letter AS dead ON given.value = dead.task_id
INNER JOIN cause ON dead.cause = cause.id
INNER JOIN lane ON cause.lane = lane.id
WHERE :tenant IS NULL OR lane.tenant = :tenant
