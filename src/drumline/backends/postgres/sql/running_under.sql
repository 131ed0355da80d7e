-- limits: how many tasks run under each.
SELECT slot.limit_id, count(*) AS running
FROM drumline.slot
WHERE
    slot.limit_id = any(:limits::int4 [])
    AND EXISTS (
        SELECT FROM drumline.task_live AS live
        WHERE live.id = slot.task_id AND live.state = 2 AND live.epoch = slot.epoch
    )
GROUP BY slot.limit_id
