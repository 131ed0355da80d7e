-- count: tasks that have not ended, by status, among the newest :limit.
--   :lanes  NULL means every lane
-- GIVES pending, queued, processing, and how many were looked at
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
)

SELECT
    count(*) FILTER (WHERE seen.is_meant AND (seen.state = 0 OR (seen.state = 1 AND seen.due_at > clock.now))) AS pending,
    count(*) FILTER (WHERE seen.is_meant AND seen.state = 1 AND seen.due_at <= clock.now) AS queued,
    count(*) FILTER (WHERE seen.is_meant AND seen.state = 2) AS processing,
    count(*) AS looked
FROM (
    SELECT
        live.state,
        live.due_at,
        (:lanes::int4 [] IS NULL OR live.lane = any(:lanes)) AS is_meant
    FROM drumline.task_live AS live
    ORDER BY live.id DESC
    LIMIT :limit::int4
) AS seen
CROSS JOIN clock
