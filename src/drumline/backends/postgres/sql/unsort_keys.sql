-- sort keys: put tasks back from the twin of a lane whose limit with keys has gone.
UPDATE drumline.task_live AS live
SET lane = :lane::int4, limit_key = 0
WHERE
    live.id = any(
        ARRAY(
            SELECT waiting.id FROM drumline.task_live AS waiting
            WHERE waiting.lane = :twin::int4 AND waiting.due_at IS NOT NULL AND waiting.state = 1
            ORDER BY waiting.due_at, waiting.id
            LIMIT :most::int4
            FOR UPDATE SKIP LOCKED
        )
    )
RETURNING live.id, live.due_at
