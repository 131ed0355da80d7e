-- sort keys: the number of the twin of a lane.
SELECT twin.id
FROM drumline.lane AS l
INNER JOIN drumline.lane AS twin
    ON
        l.name = twin.name AND l.queue = twin.queue AND l.tenant = twin.tenant AND l.priority = twin.priority
        AND l.is_keyed <> twin.is_keyed
WHERE l.id = :lane::int4
