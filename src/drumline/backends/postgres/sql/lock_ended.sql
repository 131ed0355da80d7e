-- prune: lock tasks that ended before a time and belong to no job, for those go as a whole; those that somebody is acting on are passed over.
--   :above  where the last batch ended, for what it deleted lies in the index until a vacuum, and would be walked again
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
    task.id > :above::uuid
    AND task.id < :below::uuid
    AND a.finished_at < :before::int8
    -- OFFSET 0: looked up task by task. A join would read all of task_live, with what is dead in it, for each batch
    AND NOT EXISTS (SELECT FROM drumline.task_live AS live WHERE live.id = task.id OFFSET 0)
    AND NOT EXISTS (SELECT FROM drumline.job_task AS member WHERE member.task_id = task.id OFFSET 0)
ORDER BY task.id
LIMIT :limit::int4
FOR UPDATE OF task SKIP LOCKED
