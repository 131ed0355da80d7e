-- submit: the tasks that idempotency keys belong to. A statement after insert_keys, so that it sees what that waited for.
SELECT g.tenant, g.key, i.task_id, i.fingerprint, i.due_at
FROM unnest(:tenants::text [], :keys::text []) AS g (tenant, key)
CROSS JOIN LATERAL (
    SELECT idempotency.task_id, idempotency.fingerprint, idempotency.due_at
    FROM drumline.idempotency
    WHERE idempotency.key = g.key AND idempotency.tenant = g.tenant
    OFFSET 0
) AS i
