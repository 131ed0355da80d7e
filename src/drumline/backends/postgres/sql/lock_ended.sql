-- prune: lock tasks that ended before a time and belong to no job, for those go as a whole; those that somebody is acting on are passed over.
--   :below  an id of that time: ids carry their creation time, and what was created later cannot have ended before.
--           So no index on the time of the end is needed, which every settlement would have to pay for
SELECT task.id
FROM drumline.task
CROSS JOIN LATERAL (
    SELECT attempt.finished_at
    FROM drumline.attempt
    WHERE attempt.task_id = task.id
    ORDER BY attempt.epoch DESC
    LIMIT 1
) AS a
WHERE
    task.id < :below::uuid
    AND a.finished_at < :before::int8
    AND NOT EXISTS (SELECT FROM drumline.task_live AS live WHERE live.id = task.id)
    AND NOT EXISTS (SELECT FROM drumline.job_task AS member WHERE member.task_id = task.id)
ORDER BY task.id
LIMIT :limit::int4
FOR UPDATE OF task SKIP LOCKED
