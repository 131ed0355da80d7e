-- claim: forget slots that nothing counts any more.
--   :limits, :keys, :since  which, and the time after which starts count; a key of -1 means every key
DELETE FROM drumline.slot
USING unnest(:limits::int4 [], :keys::int4 [], :since::int8 []) AS asked (limit_id, limit_key, since)
WHERE
    slot.limit_id = asked.limit_id
    AND (asked.limit_key = -1 OR slot.limit_key = asked.limit_key)
    AND slot.started_at <= asked.since
    AND NOT EXISTS (
        SELECT FROM drumline.task_live AS live
        WHERE live.id = slot.task_id AND live.state = 2 AND live.epoch = slot.epoch
    )
