-- claim: the oldest due tasks of each key of a lane, of some keys after :after.
--   The keys are walked one by one through task_live_keyed, so that a million tasks of one of them are one step.
--   :most, :each  how many keys, and how many tasks of each
WITH RECURSIVE known AS (
    (
        SELECT live.limit_key AS key FROM drumline.task_live AS live
        WHERE
            live.lane = :lane::int4 AND live.limit_key > :after::int4 AND live.limit_key > 0
            AND live.due_at IS NOT NULL
        ORDER BY live.limit_key
        LIMIT 1
    )
    UNION ALL
    SELECT following.key
    FROM known
    CROSS JOIN LATERAL (
        SELECT live.limit_key AS key FROM drumline.task_live AS live
        WHERE
            live.lane = :lane AND live.limit_key > known.key AND live.limit_key > 0 AND live.due_at IS NOT NULL
        ORDER BY live.limit_key
        LIMIT 1
    ) AS following
)

SELECT k.key, head.id, head.due_at
FROM (SELECT known.key FROM known LIMIT :most::int4) AS k
LEFT JOIN LATERAL (
    SELECT live.id, live.due_at
    FROM drumline.task_live AS live
    WHERE
        live.lane = :lane AND live.limit_key = k.key AND live.limit_key > 0 AND live.due_at <= :now::int8
        AND live.state = 1
    ORDER BY live.due_at, live.id
    LIMIT :each::int4
) AS head ON true
