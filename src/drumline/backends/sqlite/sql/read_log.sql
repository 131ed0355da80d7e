-- log: what was logged after (:epoch, :seq), of one attempt or of all.
SELECT epoch, seq, text FROM task_log
WHERE task_id = :id AND (epoch, seq) > (:epoch, :seq) AND (:only IS NULL OR epoch = :only)
ORDER BY epoch, seq
LIMIT 1000
