-- settle, reap: which of these tasks need tasks that have not ended, because those run again. Their jobs are locked.
-- GIVES with each how many of what it needs have not ended, and how many ended badly; nothing for the others
SELECT
    given.id::text,
    count(live.id) AS pending,
    count(*) FILTER (
        WHERE live.id IS NULL AND (last.outcome IN (4, 5) OR (last.outcome = 6 AND member.cause IS NOT NULL))
    ) AS bad
FROM unnest(:ids::uuid []) AS given (id)
CROSS JOIN LATERAL (
    SELECT e.parent FROM drumline.task_edge AS e WHERE e.child = given.id OFFSET 0
) AS edge
LEFT JOIN LATERAL (
    SELECT l.id FROM drumline.task_live AS l WHERE l.id = edge.parent OFFSET 0
) AS live ON true
LEFT JOIN LATERAL (
    SELECT a.outcome FROM drumline.attempt AS a WHERE a.task_id = edge.parent ORDER BY a.epoch DESC LIMIT 1
) AS last ON true
CROSS JOIN LATERAL (
    SELECT m.cause FROM drumline.job_task AS m WHERE m.task_id = edge.parent OFFSET 0
) AS member
GROUP BY given.id
HAVING count(live.id) > 0
