-- count: tasks that ended in one way, among the newest :limit such ends; what is NULL does not narrow.
--   :outcome  how they ended
-- GIVES how many there are, and how many ends were looked at: a task that was retried had an end that no longer counts
SELECT
    count(CASE
        WHEN
            (:tenant IS NULL AND :queue IS NULL AND :name IS NULL OR EXISTS (
                SELECT 1 FROM task
                INNER JOIN lane ON task.lane = lane.id
                WHERE
                    task.id = ended.task_id
                    AND (:tenant IS NULL OR lane.tenant = :tenant)
                    AND (:queue IS NULL OR lane.queue = :queue)
                    AND (:name IS NULL OR lane.name = :name)
            ))
            AND NOT EXISTS (SELECT 1 FROM task_live WHERE task_live.id = ended.task_id)
            AND NOT EXISTS (SELECT 1 FROM attempt WHERE attempt.task_id = ended.task_id AND attempt.epoch > ended.epoch)
            THEN 1
    END),
    count(*)
FROM (
    SELECT task_id, epoch FROM attempt
    WHERE outcome = :outcome
    ORDER BY task_id DESC
    LIMIT :limit
) AS ended
