-- sort keys: put tasks back from the twin of a lane whose limit with keys has gone.
UPDATE task_live
SET lane = :lane, limit_key = 0
WHERE
    id IN (
        SELECT id FROM task_live
        WHERE lane = :twin AND state = 1
        ORDER BY due_at
        LIMIT :most
    )
RETURNING id, due_at
