-- progress: how far the attempts are that run now.
--   :ids  JSON list
SELECT progress.task_id, progress.done, progress.total, progress.message
FROM json_each(:ids) AS given
INNER JOIN progress ON given.value = progress.task_id
INNER JOIN task_live AS live ON progress.task_id = live.id
WHERE
    live.state = 2
    AND live.epoch = progress.epoch
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = progress.task_id AND lane.tenant = :tenant
        )
    )
