-- list: the lanes that a filter means; what is NULL does not narrow.
SELECT lane.id FROM drumline.lane
WHERE
    (:tenant::text IS NULL OR lane.tenant = :tenant)
    AND (:queue::text IS NULL OR lane.queue = :queue)
    AND (:name::text IS NULL OR lane.name = :name)
