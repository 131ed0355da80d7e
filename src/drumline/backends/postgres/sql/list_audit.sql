-- list the audit log: newest first, below :before. What is NULL does not narrow.
--   :every  to list what was asked even where its answer is listed too
SELECT a.tenant, a.seq, a.id, a.asks, a.text, a.hash
FROM drumline.audit AS a
WHERE
    (:before::uuid IS NULL OR a.id < :before)
    AND (:tenant::text IS NULL OR a.tenant = :tenant)
    AND (:act::text IS NULL OR a.text::json ->> 'act' = :act)
    AND (:key::text IS NULL OR a.text::json ->> 'key' = :key)
    AND (:target::text IS NULL OR a.text::json ->> 'target' = :target)
    AND (:since::int8 IS NULL OR (a.text::json ->> 'at')::int8 >= :since)
    AND (:until::int8 IS NULL OR (a.text::json ->> 'at')::int8 < :until)
    AND (:every::bool OR NOT EXISTS (SELECT 1 FROM drumline.audit AS answer WHERE answer.asks = a.id))
ORDER BY a.id DESC
LIMIT :limit::int4
