-- append to the audit log: how chains end, locked until that is done, and the time.
SELECT h.tenant, h.count, h.hash, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.audit_head AS h
WHERE h.tenant = any(:tenants::text [])
ORDER BY h.tenant
FOR UPDATE
