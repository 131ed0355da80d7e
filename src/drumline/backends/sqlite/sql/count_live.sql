-- count: tasks that have not ended, by status, among the newest :limit; what is NULL does not narrow.
-- GIVES pending, queued, processing, and how many were looked at
SELECT
    coalesce(sum(is_meant AND (state = 0 OR (state = 1 AND due_at > :now))), 0),
    coalesce(sum(is_meant AND state = 1 AND due_at <= :now), 0),
    coalesce(sum(is_meant AND state = 2), 0),
    count(*)
FROM (
    SELECT
        live.state,
        live.due_at,
        (
            (:tenant IS NULL OR lane.tenant = :tenant)
            AND (:queue IS NULL OR lane.queue = :queue)
            AND (:name IS NULL OR lane.name = :name)
        ) AS is_meant
    FROM task_live AS live
    INNER JOIN lane ON live.lane = lane.id
    ORDER BY live.id DESC
    LIMIT :limit
)
