-- dead letters: groups of one fingerprint, from the counts of their causes. What is NULL does not narrow.
--   :by_count              1 to sort by the count, else by when it was last seen
--   :below, :below_group   the value that the last group of the page before is sorted by, and its fingerprint
SELECT fingerprint, kind, message, count, first_at, last_at, names, queues
FROM (
    SELECT
        cause.fingerprint,
        min(cause.kind) AS kind,
        min(cause.message) AS message,
        sum(cause.count) AS count,
        min(cause.first_at) AS first_at,
        max(cause.last_at) AS last_at,
        json_group_array(DISTINCT lane.name) AS names,
        json_group_array(DISTINCT lane.queue) AS queues,
        CASE WHEN :by_count THEN sum(cause.count) ELSE max(cause.last_at) END AS value
    FROM cause
    INNER JOIN lane ON cause.lane = lane.id
    WHERE
        cause.count > 0
        AND (:tenant IS NULL OR lane.tenant = :tenant)
        AND (:queue IS NULL OR lane.queue = :queue)
        AND (:name IS NULL OR lane.name = :name)
        AND (:fingerprint IS NULL OR cause.fingerprint = :fingerprint)
        AND (:kind IS NULL OR cause.kind = :kind)
    GROUP BY cause.fingerprint
)
WHERE :below IS NULL OR (value, fingerprint) < (:below, :below_group)
ORDER BY value DESC, fingerprint DESC
LIMIT :limit
