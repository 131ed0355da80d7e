-- claim webhooks, claim mail: for whom something is due, those waiting longest first.
SELECT address, tenant, min(next_at) AS first
FROM delivery INDEXED BY delivery_waiting
WHERE state = 0 AND channel = :channel AND next_at <= :now
GROUP BY address, tenant
ORDER BY first
