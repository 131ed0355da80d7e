-- fire times: which in a span have a run that was not skipped.
SELECT fire_time FROM drumline.schedule_run
WHERE schedule_id = :schedule::uuid AND fire_time > :after::int8 AND fire_time <= :until::int8 AND state <> 2
