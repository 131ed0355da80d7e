-- prune: tasks that ended before a time and belong to no job, for those go as a whole. Ids carry their creation time, so the oldest come first.
--   :above  where the last batch ended: older ones that still wait need not be walked past again
--   :below  an id of that time: what was created later cannot have ended before, and need not be looked at
SELECT task.id FROM task
WHERE
    task.id > :above
    AND task.id < :below
    AND NOT EXISTS (SELECT 1 FROM task_live WHERE id = task.id)
    AND NOT EXISTS (SELECT 1 FROM job_task WHERE task_id = task.id)
    AND (SELECT max(finished_at) FROM attempt WHERE task_id = task.id) < :before
ORDER BY task.id
LIMIT :limit
