-- submit: the tasks that idempotency keys belong to. A statement after insert_keys, so that it sees what that waited for.
SELECT i.tenant, i.key, i.task_id, i.fingerprint, i.due_at
FROM unnest(:tenants::text [], :keys::text []) AS g (tenant, key)
INNER JOIN drumline.idempotency AS i ON g.key = i.key AND g.tenant = i.tenant
