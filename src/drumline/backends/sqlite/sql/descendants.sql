-- every act that ends tasks: the blocked tasks that need one of these, or one that needs one, and so on.
--   :ids  JSON list
-- GIVES one JSON list as children.sql; the parents are those of :ids, and blocked ones that were reached
WITH RECURSIVE reached (id) AS (
    SELECT value FROM json_each(:ids)
    UNION
    SELECT live.id
    FROM reached
    CROSS JOIN task_edge AS edge ON reached.id = edge.parent
    CROSS JOIN task_live AS live ON edge.child = live.id
    WHERE live.state = 0
)

SELECT json_group_array(json_array(id, job_id, key, run_if, pending, bad, lane, epoch, attempt, json(parents)))
FROM (
    SELECT
        live.id, member.job_id, member.key, member.run_if, member.pending, member.bad,
        live.lane, live.epoch, live.attempt, json_group_array(edge.parent) AS parents
    FROM reached
    CROSS JOIN task_edge AS edge ON reached.id = edge.parent
    CROSS JOIN task_live AS live ON edge.child = live.id
    CROSS JOIN job_task AS member ON live.id = member.task_id
    WHERE live.state = 0
    GROUP BY live.id
)
