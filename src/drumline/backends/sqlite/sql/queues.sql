-- queues: those that have live tasks or are paused.
SELECT
    tenant, queue,
    sum(pending), sum(queued), sum(processing), min(oldest_due_at),
    max(is_paused), max(reason),
    json_group_array(json_array(name, queued, oldest_due_at)) FILTER (WHERE queued > 0) AS waiting
FROM (
    SELECT
        lane.tenant, lane.queue, lane.name,
        sum(live.state = 0 OR (live.state = 1 AND live.due_at > :now)) AS pending,
        sum(live.state = 1 AND live.due_at <= :now) AS queued,
        sum(live.state = 2) AS processing,
        min(CASE WHEN live.state = 1 AND live.due_at <= :now THEN live.due_at END) AS oldest_due_at,
        0 AS is_paused,
        NULL AS reason
    FROM task_live AS live
    INNER JOIN lane ON live.lane = lane.id
    GROUP BY lane.tenant, lane.queue, lane.name
    UNION ALL
    SELECT tenant, queue, NULL, 0, 0, 0, NULL, 1, reason FROM queue_pause
    UNION ALL
    SELECT DISTINCT tenant, queue, NULL, 0, 0, 0, NULL, 0, NULL FROM lane
)
WHERE :tenant IS NULL OR tenant = :tenant
GROUP BY tenant, queue
ORDER BY tenant, queue
