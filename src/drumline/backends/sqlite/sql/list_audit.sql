-- list the audit log: newest first, below :before. What is NULL does not narrow.
--   :every  1 to list what was asked even where its answer is listed too
SELECT tenant, seq, id, asks, text, hash
FROM audit
WHERE
    (:before IS NULL OR id < :before)
    AND (:tenant IS NULL OR tenant = :tenant)
    AND (:act IS NULL OR json_extract(text, '$.act') = :act)
    AND (:key IS NULL OR json_extract(text, '$.key') = :key)
    AND (:target IS NULL OR json_extract(text, '$.target') = :target)
    AND (:since IS NULL OR json_extract(text, '$.at') >= :since)
    AND (:until IS NULL OR json_extract(text, '$.at') < :until)
    AND (:every OR NOT EXISTS (SELECT 1 FROM audit AS answer WHERE answer.asks = audit.id))
ORDER BY id DESC
LIMIT :limit
