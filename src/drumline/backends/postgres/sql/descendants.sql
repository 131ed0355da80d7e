-- every act that ends tasks: the blocked tasks that need one of these, or one that needs one, and so on.
-- GIVES as children.sql; the parents are those of :ids, and blocked ones that were reached
WITH RECURSIVE reached (id) AS (
    SELECT given.id FROM unnest(:ids::uuid []) AS given (id)
    UNION
    SELECT live.id
    FROM reached
    CROSS JOIN LATERAL (
        SELECT e.child FROM drumline.task_edge AS e WHERE e.parent = reached.id OFFSET 0
    ) AS edge
    CROSS JOIN LATERAL (
        SELECT l.id FROM drumline.task_live AS l WHERE l.id = edge.child AND l.state = 0 OFFSET 0
    ) AS live
)

SELECT
    live.id::text, member.job_id::text, member.key, member.run_if, member.pending, member.bad, live.lane, live.epoch,
    live.attempt, needing.parents::text []
FROM (
    SELECT edge.child, array_agg(edge.parent) AS parents
    FROM (
        SELECT e.parent, e.child FROM drumline.task_edge AS e WHERE e.parent = any(ARRAY(SELECT reached.id FROM reached)) OFFSET 0
    ) AS edge
    GROUP BY edge.child
) AS needing
CROSS JOIN LATERAL (
    SELECT l.id, l.lane, l.epoch, l.attempt
    FROM drumline.task_live AS l
    WHERE l.id = needing.child AND l.state = 0
    OFFSET 0
) AS live
CROSS JOIN LATERAL (
    SELECT m.job_id, m.key, m.run_if, m.pending, m.bad
    FROM drumline.job_task AS m
    WHERE m.task_id = needing.child
    OFFSET 0
) AS member
