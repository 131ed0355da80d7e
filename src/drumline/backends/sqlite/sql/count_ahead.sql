-- count_ahead: the due tasks of a queue that a claim would take before one with this score.
--   :score  due time less a minute for each point of priority
SELECT count(*)
FROM (
    SELECT 1
    FROM lane
    INNER JOIN task_live AS live ON lane.id = live.lane
    WHERE
        lane.tenant = :tenant
        AND lane.queue = :queue
        AND live.due_at < min(:score + lane.priority * 60000, :now + 1)
        AND live.state = 1
    LIMIT :limit
)
