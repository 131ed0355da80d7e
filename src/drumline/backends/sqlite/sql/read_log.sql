-- log: what was logged after (:epoch, :seq), of one attempt or of all.
SELECT epoch, seq, text FROM task_log
WHERE
    task_id = :id
    AND (epoch, seq) > (:epoch, :seq)
    AND (:only IS NULL OR epoch = :only)
    AND (
        :tenant IS NULL
        OR EXISTS (
            SELECT 1 FROM task INNER JOIN lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY epoch, seq
LIMIT 1000
