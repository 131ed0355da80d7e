-- claim: lock limits, in the order of their numbers: whoever claims under the same ones waits, and sees what was claimed.
SELECT f.id, f.tenant, f.name, f.queue, f.task, f.keyed_by, f.max_concurrent, f.rate, f.period_ms, f.created_at
FROM drumline.flow_limit AS f
WHERE f.id = any(:limits::int4 [])
ORDER BY f.id
FOR UPDATE
