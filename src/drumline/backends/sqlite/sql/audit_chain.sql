-- read a chain: a stretch of it, in its order.
SELECT tenant, seq, id, asks, text, hash
FROM audit
WHERE tenant = :tenant AND seq > :after
ORDER BY seq
LIMIT :limit
