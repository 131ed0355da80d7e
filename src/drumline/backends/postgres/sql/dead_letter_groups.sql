-- dead letters: groups of one fingerprint, from the counts of their causes. What is NULL does not narrow.
--   :by_count              to sort by the count, else by when it was last seen
--   :below, :below_group   the value that the last group of the page before is sorted by, and its fingerprint
SELECT g.fingerprint, g.kind, g.message, g.count, g.first_at, g.last_at, g.names, g.queues
FROM (
    SELECT
        c.fingerprint,
        min(c.kind) AS kind,
        min(c.message) AS message,
        sum(c.count)::int8 AS count,
        min(c.first_at) AS first_at,
        max(c.last_at) AS last_at,
        array_agg(DISTINCT lane.name) AS names,
        array_agg(DISTINCT lane.queue) AS queues,
        CASE WHEN :by_count::bool THEN sum(c.count)::int8 ELSE max(c.last_at) END AS value
    FROM drumline.cause AS c
    INNER JOIN drumline.lane ON c.lane = lane.id
    WHERE
        c.count > 0
        AND (:tenant::text IS NULL OR lane.tenant = :tenant)
        AND (:queue::text IS NULL OR lane.queue = :queue)
        AND (:name::text IS NULL OR lane.name = :name)
        AND (:fingerprint::text IS NULL OR c.fingerprint = :fingerprint)
        AND (:kind::text IS NULL OR c.kind = :kind)
    GROUP BY c.fingerprint
) AS g
WHERE :below::int8 IS NULL OR (g.value, g.fingerprint) < (:below, :below_group::text)
ORDER BY g.value DESC, g.fingerprint DESC
LIMIT :limit::int4
