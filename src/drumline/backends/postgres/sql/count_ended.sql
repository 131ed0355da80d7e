-- count: tasks that have ended, by how, among the newest :limit ends of each kind.
--   :lanes  NULL means every lane
-- GIVES outcome, how many, and how many ends were looked at: a task that was retried had an end that no longer counts
WITH ended AS MATERIALIZED (
    (
        SELECT a.task_id, a.epoch, a.lane, a.outcome FROM drumline.attempt AS a
        WHERE a.outcome = 3
        ORDER BY a.task_id DESC, a.epoch DESC
        LIMIT :limit::int4
    )
    UNION ALL
    (
        SELECT head.task_id, head.epoch, head.lane, head.outcome
        FROM unnest('{4,5,6}'::int2 []) AS u (outcome)
        CROSS JOIN LATERAL (
            SELECT a.task_id, a.epoch, a.lane, a.outcome FROM drumline.attempt AS a
            WHERE a.outcome = u.outcome AND a.outcome BETWEEN 4 AND 6
            ORDER BY a.task_id DESC
            LIMIT :limit
        ) AS head
    )
)

SELECT
    ended.outcome,
    count(*) FILTER (
        WHERE (:lanes::int4 [] IS NULL OR ended.lane = any(:lanes))
        AND NOT EXISTS (SELECT 1 FROM drumline.task_live AS live WHERE live.id = ended.task_id)
        AND NOT EXISTS (
            SELECT 1 FROM drumline.attempt AS later WHERE later.task_id = ended.task_id AND later.epoch > ended.epoch
        )
    ) AS found,
    count(*) AS looked
FROM ended
GROUP BY ended.outcome
