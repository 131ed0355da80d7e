-- dead letters: the causes that a filter means. What is NULL does not narrow.
SELECT c.id
FROM drumline.cause AS c
INNER JOIN drumline.lane ON c.lane = lane.id
WHERE
    c.count > 0
    AND (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND (:name::text IS NULL OR lane.name = :name)
    AND (:fingerprint::text IS NULL OR c.fingerprint = :fingerprint)
    AND (:kind::text IS NULL OR c.kind = :kind)
