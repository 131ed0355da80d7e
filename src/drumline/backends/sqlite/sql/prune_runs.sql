-- prune runs: the notes of old ones, but for those that wait.
DELETE FROM schedule_run
WHERE (schedule_id, fire_time) IN (
    SELECT schedule_id, fire_time FROM schedule_run
    WHERE created_at < :before AND state <> 1
    ORDER BY created_at
    LIMIT :limit
)
