-- queues: everybody's: all that ever had a task or are paused, with what waits and runs in them.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

counted AS (
    SELECT
        live.lane,
        count(*) FILTER (WHERE live.state = 0 OR (live.state = 1 AND live.due_at > (SELECT clock.now FROM clock))) AS pending,
        count(*) FILTER (WHERE live.state = 1 AND live.due_at <= (SELECT clock.now FROM clock)) AS queued,
        count(*) FILTER (WHERE live.state = 2) AS processing,
        min(live.due_at) FILTER (WHERE live.state = 1 AND live.due_at <= (SELECT clock.now FROM clock)) AS oldest_due_at
    FROM drumline.task_live AS live
    GROUP BY live.lane
),

known AS (
    SELECT lane.tenant, lane.queue, lane.name, c.pending, c.queued, c.processing, c.oldest_due_at
    FROM drumline.lane
    LEFT JOIN counted AS c ON lane.id = c.lane
    UNION ALL
    SELECT p.tenant, p.queue, NULL, 0, 0, 0, NULL FROM drumline.queue_pause AS p
)

SELECT
    k.tenant, k.queue,
    coalesce(sum(k.pending), 0)::int8 AS pending,
    coalesce(sum(k.queued), 0)::int8 AS queued,
    coalesce(sum(k.processing), 0)::int8 AS processing,
    min(k.oldest_due_at) AS oldest_due_at,
    count(p.queue) > 0 AS is_paused,
    min(p.reason) AS reason,
    array_agg(k.name) FILTER (WHERE k.queued > 0) AS names,
    array_agg(k.queued) FILTER (WHERE k.queued > 0) AS waiting,
    array_agg(k.oldest_due_at) FILTER (WHERE k.queued > 0) AS oldest
FROM known AS k
LEFT JOIN drumline.queue_pause AS p ON k.tenant = p.tenant AND k.queue = p.queue
GROUP BY k.tenant, k.queue
ORDER BY k.tenant, k.queue
