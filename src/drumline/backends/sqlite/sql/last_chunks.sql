-- read events: the last pieces that an attempt logged, the last one first.
SELECT text FROM task_log WHERE task_id = :id AND epoch = :epoch ORDER BY seq DESC LIMIT :limit
