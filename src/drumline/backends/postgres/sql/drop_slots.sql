-- claim: forget slots that nothing counts any more.
--   :limits, :keys, :since  which, and the time after which starts count
DELETE FROM drumline.slot
WHERE
    slot.ctid = any(
        ARRAY(
            SELECT dead.place
            FROM unnest(:limits::int4 [], :keys::int4 [], :since::int8 []) AS asked (limit_id, limit_key, since)
            CROSS JOIN LATERAL (
                SELECT s.ctid AS place
                FROM drumline.slot AS s
                WHERE
                    s.limit_id = asked.limit_id AND s.limit_key = asked.limit_key AND s.started_at <= asked.since
                    AND NOT EXISTS (
                        SELECT FROM drumline.task_live AS live
                        WHERE live.id = s.task_id AND live.state = 2 AND live.epoch = s.epoch
                    )
                OFFSET 0
            ) AS dead
        )
    )
