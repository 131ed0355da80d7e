-- sort keys: forget slots that nothing counts any more, under whatever key.
--   :limits  JSON list of [limit, since]
DELETE FROM slot
WHERE
    (limit_id, limit_key, task_id, epoch) IN (
        SELECT dead.limit_id, dead.limit_key, dead.task_id, dead.epoch
        FROM json_each(:limits) AS asked
        INNER JOIN slot AS dead
            ON dead.limit_id = json_extract(asked.value, '$[0]')
        LEFT JOIN task_live AS live ON dead.task_id = live.id AND dead.epoch = live.epoch AND live.state = 2
        WHERE live.id IS NULL AND dead.started_at <= json_extract(asked.value, '$[1]')
    )
