-- settle, reap: which of these tasks need tasks that have not ended, because those run again.
--   :ids  JSON list
-- GIVES with each how many of what it needs have not ended, and how many ended badly; nothing for the others
SELECT
    edge.child,
    count(live.id) AS pending,
    count(CASE WHEN live.id IS NULL AND (last.outcome IN (4, 5) OR (last.outcome = 6 AND member.cause IS NOT NULL)) THEN 1 END)
        AS bad
FROM json_each(:ids) AS given
CROSS JOIN task_edge AS edge ON given.value = edge.child
CROSS JOIN job_task AS member ON edge.parent = member.task_id
LEFT JOIN task_live AS live ON edge.parent = live.id
LEFT JOIN attempt AS last
    ON
        edge.parent = last.task_id
        AND last.epoch = (SELECT max(epoch) FROM attempt WHERE task_id = edge.parent)
GROUP BY edge.child
HAVING count(live.id) > 0
ORDER BY edge.child
