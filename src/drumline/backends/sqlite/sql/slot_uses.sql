-- claim: how much of limits is used.
--   :slots  JSON list of [limit, key, since]: starts count after that time
-- GIVES one JSON list of [limit, key, running, started, the oldest of those]
SELECT json_group_array(json_array(limit_id, limit_key, running, started, oldest))
FROM (
    SELECT
        slot.limit_id, slot.limit_key,
        count(live.id) AS running,
        count(CASE WHEN slot.started_at > json_extract(asked.value, '$[2]') THEN 1 END) AS started,
        min(CASE WHEN slot.started_at > json_extract(asked.value, '$[2]') THEN slot.started_at END) AS oldest
    FROM json_each(:slots) AS asked
    INNER JOIN slot ON slot.limit_id = json_extract(asked.value, '$[0]') AND slot.limit_key = json_extract(asked.value, '$[1]')
    LEFT JOIN task_live AS live ON slot.task_id = live.id AND slot.epoch = live.epoch AND live.state = 2
    GROUP BY slot.limit_id, slot.limit_key
)
