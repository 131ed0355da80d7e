-- count: tasks that have not ended, of each status up to :limit, each by an index of its own; what is NULL does not
-- narrow.
-- GIVES queued, due later, blocked, processing
WITH wanted AS MATERIALIZED (
    SELECT id FROM lane
    WHERE (:tenant IS NULL OR tenant = :tenant) AND (:queue IS NULL OR queue = :queue) AND (:name IS NULL OR name = :name)
)

SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM wanted CROSS JOIN task_live AS live INDEXED BY task_live_ready
            WHERE live.lane = wanted.id AND live.state = 1 AND live.due_at <= :now
            LIMIT :limit
        )
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM wanted CROSS JOIN task_live AS live INDEXED BY task_live_ready
            WHERE live.lane = wanted.id AND live.state = 1 AND live.due_at > :now
            LIMIT :limit
        )
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM wanted CROSS JOIN task_live AS live INDEXED BY task_live_blocked
            WHERE live.lane = wanted.id AND live.state = 0
            LIMIT :limit
        )
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM task_live AS live INDEXED BY task_live_held
            WHERE live.state = 2 AND live.lane IN (SELECT id FROM wanted)
            LIMIT :limit
        )
    )
