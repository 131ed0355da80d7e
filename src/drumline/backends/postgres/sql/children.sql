-- every act that ends tasks: the blocked tasks that need one of these. Their jobs are locked.
-- GIVES with each the ones of :ids that it needs
SELECT
    live.id::text, member.job_id::text, member.key, member.run_if, member.pending, member.bad, live.lane, live.epoch,
    live.attempt, needing.parents::text []
FROM (
    SELECT edge.child, array_agg(edge.parent) AS parents
    FROM (
        SELECT e.parent, e.child FROM drumline.task_edge AS e WHERE e.parent = any(:ids::uuid []) OFFSET 0
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
