-- log: what was logged after (:epoch, :seq), of one attempt or of all.
SELECT l.epoch, l.seq, l.text FROM drumline.task_log AS l
WHERE
    l.task_id = :id::uuid
    AND (l.epoch, l.seq) > (:epoch::int4, :seq::int4)
    AND (:only::int4 IS NULL OR l.epoch = :only)
    AND (
        :tenant::text IS NULL
        OR EXISTS (
            SELECT FROM drumline.task INNER JOIN drumline.lane ON task.lane = lane.id
            WHERE task.id = :id AND lane.tenant = :tenant
        )
    )
ORDER BY l.epoch, l.seq
LIMIT 1000
