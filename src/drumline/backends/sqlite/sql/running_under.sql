-- limits: how many tasks run under each.
--   :limits  JSON list of numbers
SELECT slot.limit_id, count(*)
FROM slot
INNER JOIN task_live AS live ON slot.task_id = live.id AND slot.epoch = live.epoch AND live.state = 2
WHERE slot.limit_id IN (SELECT value FROM json_each(:limits))
GROUP BY slot.limit_id
