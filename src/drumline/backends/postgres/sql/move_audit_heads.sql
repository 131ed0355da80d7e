-- append to the audit log: how chains end now.
UPDATE drumline.audit_head AS h
SET count = given.count, hash = given.hash
FROM unnest(:tenants::text [], :counts::int8 [], :hashes::bytea []) AS given (tenant, count, hash)
WHERE h.tenant = given.tenant
