-- read a chain: a stretch of it, in its order.
SELECT a.tenant, a.seq, a.id, a.asks, a.text, a.hash
FROM drumline.audit AS a
WHERE a.tenant = :tenant::text AND a.seq > :after::int8
ORDER BY a.seq
LIMIT :limit::int4
