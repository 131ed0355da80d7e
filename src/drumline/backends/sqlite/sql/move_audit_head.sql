-- append to the audit log: how a chain ends now.
INSERT INTO audit_head (tenant, count, hash) VALUES (:tenant, :count, :hash)
ON CONFLICT (tenant) DO UPDATE SET count = excluded.count, hash = excluded.hash
