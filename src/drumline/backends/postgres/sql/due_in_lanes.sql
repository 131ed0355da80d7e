-- claim: the oldest due tasks of lanes, of each up to :each.
SELECT head.lane, head.id, head.due_at
FROM unnest(:lanes::int4 []) AS asked (lane)
CROSS JOIN LATERAL (
    SELECT live.lane, live.id, live.due_at
    FROM drumline.task_live AS live
    WHERE live.lane = asked.lane AND live.due_at <= :now::int8 AND live.state = 1
    ORDER BY live.due_at, live.id
    LIMIT :each::int4
) AS head
