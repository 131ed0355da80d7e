-- append to the audit log: one row.
INSERT INTO audit (tenant, seq, id, asks, text, hash) VALUES (:tenant, :seq, :id, :asks, :text, :hash)
