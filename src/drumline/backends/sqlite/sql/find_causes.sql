-- dead letters: the causes that a filter means, and how many dead letters each has. What is NULL does not narrow.
SELECT cause.id, cause.count
FROM cause
INNER JOIN lane ON cause.lane = lane.id
WHERE
    cause.count > 0
    AND (:tenant IS NULL OR lane.tenant = :tenant)
    AND (:queue IS NULL OR lane.queue = :queue)
    AND (:name IS NULL OR lane.name = :name)
    AND (:fingerprint IS NULL OR cause.fingerprint = :fingerprint)
    AND (:kind IS NULL OR cause.kind = :kind)
