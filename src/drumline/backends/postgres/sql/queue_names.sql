-- queues: those of a tenant that ever had a task or are paused, with their lanes. What waits in them, count_lanes.sql tells.
SELECT
    known.queue, known.lanes, known.names, p.queue IS NOT NULL AS is_paused, p.reason
FROM (
    SELECT named.queue, array_remove(array_agg(named.lane ORDER BY named.lane), NULL) AS lanes,
        array_remove(array_agg(named.name ORDER BY named.lane), NULL) AS names
    FROM (
        SELECT lane.queue, lane.id AS lane, lane.name FROM drumline.lane
        WHERE lane.tenant = :tenant::text
        UNION ALL
        SELECT paused.queue, NULL, NULL FROM drumline.queue_pause AS paused
        WHERE paused.tenant = :tenant
    ) AS named
    GROUP BY named.queue
) AS known
LEFT JOIN drumline.queue_pause AS p ON known.queue = p.queue AND p.tenant = :tenant
ORDER BY known.queue
