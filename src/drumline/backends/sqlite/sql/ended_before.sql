-- prune: tasks that ended before a time. Ids carry their creation time, so the oldest come first.
SELECT task.id FROM task
WHERE
    NOT EXISTS (SELECT 1 FROM task_live WHERE id = task.id)
    AND (SELECT max(finished_at) FROM attempt WHERE task_id = task.id) < :before
ORDER BY task.id
LIMIT :limit
