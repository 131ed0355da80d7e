-- prune: forget sessions that closed before a time and of which no claim is remembered.
DELETE FROM drumline.session AS s
WHERE
    s.closed_at < :before::int8
    AND NOT EXISTS (SELECT FROM drumline.claim WHERE claim.session = s.id)
