-- count_ahead: the due tasks of a queue that a claim would take before one with this score.
--   :score  due time less a minute for each point of priority
SELECT count(*) AS count
FROM (
    SELECT
    FROM drumline.lane
    INNER JOIN drumline.task_live AS live ON lane.id = live.lane
    WHERE
        lane.tenant = :tenant::text
        AND lane.queue = :queue::text
        AND live.due_at < least(
            :score::int8 + lane.priority * 60000,
            coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) + 1
        )
        AND live.state = 1
    LIMIT :limit::int4
) AS before
