-- fire times: which in a span have a run that was not skipped.
SELECT fire_time FROM schedule_run
WHERE schedule_id = :schedule AND fire_time > :after AND fire_time <= :until AND state <> 2
