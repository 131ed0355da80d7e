-- claim: the oldest due tasks of a lane.
-- GIVES one JSON list of [due_at, id], oldest first
SELECT json_group_array(json_array(due_at, id))
FROM (
    SELECT due_at, id FROM task_live
    WHERE lane = :lane AND state = 1 AND due_at <= :now
    ORDER BY due_at, id
    LIMIT :limit
)
