-- prune: lock tasks that ended before a time, longest ago first; those that somebody is acting on are passed over.
SELECT task.id
FROM drumline.attempt AS a
INNER JOIN drumline.task ON a.task_id = task.id
WHERE
    a.outcome BETWEEN 3 AND 6
    AND a.finished_at < :before::int8
    AND NOT EXISTS (SELECT FROM drumline.task_live AS live WHERE live.id = a.task_id)
    AND NOT EXISTS (
        SELECT FROM drumline.attempt AS later WHERE later.task_id = a.task_id AND later.epoch > a.epoch
    )
ORDER BY a.finished_at
LIMIT :limit::int4
FOR UPDATE OF task SKIP LOCKED
