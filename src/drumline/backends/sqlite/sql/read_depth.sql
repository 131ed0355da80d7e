-- depth: how many tasks waited in a stretch of time, summed over the lanes that are asked for and over the samples.
-- GIVES the buckets in which samples were taken, with how many those were
SELECT
    depth.at,
    sum(CASE WHEN depth.lane > 0 THEN depth.total ELSE 0 END),
    sum(CASE WHEN depth.lane = 0 THEN depth.total ELSE 0 END)
FROM depth
LEFT JOIN lane ON depth.lane = lane.id
WHERE
    depth.step = :step
    AND depth.at >= :since
    AND depth.at < :until
    AND (
        depth.lane = 0
        OR (
            lane.id IS NOT NULL
            AND (:tenant IS NULL OR lane.tenant = :tenant)
            AND (:queue IS NULL OR lane.queue = :queue)
            AND (:name IS NULL OR lane.name = :name)
        )
    )
GROUP BY depth.at
