-- stats: the figures of a stretch of time, summed over the lanes that are asked for.
SELECT s.at, s.measure, s.duration, sum(s.count)::int8 AS count
FROM drumline.stat AS s
INNER JOIN drumline.lane ON s.lane = lane.id
WHERE
    s.step = :step::int4
    AND s.at >= :since::int8
    AND s.at < :until::int8
    AND (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND (:name::text IS NULL OR lane.name = :name)
GROUP BY s.at, s.measure, s.duration
