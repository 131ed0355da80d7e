-- drop runs: forget those of a kind that wait for their time.
DELETE FROM drumline.schedule_run
WHERE schedule_id = :schedule::uuid AND kind = :kind::int2 AND state = 1 AND start_at IS NOT NULL
RETURNING fire_time
