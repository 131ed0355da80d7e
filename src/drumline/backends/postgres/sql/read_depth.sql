-- depth: how many tasks waited in a stretch of time, summed over the lanes that are asked for and over the samples.
-- GIVES the buckets in which samples were taken, with how many those were
SELECT
    d.at,
    coalesce(sum(d.total) FILTER (WHERE d.lane > 0), 0)::int8 AS total,
    sum(d.total) FILTER (WHERE d.lane = 0)::int8 AS samples
FROM drumline.depth AS d
LEFT JOIN drumline.lane ON d.lane = lane.id
WHERE
    d.step = :step::int4
    AND d.at >= :since::int8
    AND d.at < :until::int8
    AND (
        d.lane = 0
        OR (
            lane.id IS NOT NULL
            AND (:tenant::text IS NULL OR lane.tenant = :tenant)
            AND (:queue::text IS NULL OR lane.queue = :queue)
            AND (:name::text IS NULL OR lane.name = :name)
        )
    )
GROUP BY d.at
