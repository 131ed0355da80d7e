-- start runs: a run has started, or could not.
UPDATE schedule_run
SET state = :state, created_at = :now, task_id = :task, job_id = :job, reason = :reason
WHERE schedule_id = :schedule AND fire_time = :fire_time
