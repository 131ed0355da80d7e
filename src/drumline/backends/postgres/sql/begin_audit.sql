-- append to the audit log: heads of chains that are new.
INSERT INTO drumline.audit_head (tenant, count, hash)
SELECT given.tenant, 0, :beginning::bytea FROM unnest(:tenants::text []) AS given (tenant)
ORDER BY given.tenant
ON CONFLICT (tenant) DO NOTHING
