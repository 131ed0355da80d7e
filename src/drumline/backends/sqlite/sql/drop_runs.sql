-- drop runs: forget those of a kind that wait for their time.
DELETE FROM schedule_run
WHERE schedule_id = :schedule AND kind = :kind AND state = 1 AND start_at IS NOT NULL
