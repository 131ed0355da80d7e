-- stats: the figures of a stretch of time, summed over the lanes that are asked for.
SELECT stat.at, stat.measure, stat.duration, sum(stat.count)
FROM stat
INNER JOIN lane ON stat.lane = lane.id
WHERE
    stat.step = :step
    AND stat.at >= :since
    AND stat.at < :until
    AND (:tenant IS NULL OR lane.tenant = :tenant)
    AND (:queue IS NULL OR lane.queue = :queue)
    AND (:name IS NULL OR lane.name = :name)
GROUP BY stat.at, stat.measure, stat.duration
