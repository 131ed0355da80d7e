-- claim: how much of limits is used.
--   :limits, :keys, :since  what is asked for: starts count after that time
SELECT
    asked.limit_id, asked.limit_key,
    count(*) FILTER (WHERE s.is_running) AS running,
    count(*) FILTER (WHERE s.started_at > asked.since) AS started,
    min(s.started_at) FILTER (WHERE s.started_at > asked.since) AS oldest
FROM unnest(:limits::int4 [], :keys::int4 [], :since::int8 []) AS asked (limit_id, limit_key, since)
CROSS JOIN LATERAL (
    SELECT
        slot.started_at,
        EXISTS (
            SELECT FROM drumline.task_live AS live
            WHERE live.id = slot.task_id AND live.state = 2 AND live.epoch = slot.epoch
        ) AS is_running
    FROM drumline.slot
    WHERE slot.limit_id = asked.limit_id AND slot.limit_key = asked.limit_key
    OFFSET 0
) AS s
GROUP BY asked.limit_id, asked.limit_key
