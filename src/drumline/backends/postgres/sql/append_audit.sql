-- append to the audit log: rows, as lists of equal length.
INSERT INTO drumline.audit (tenant, seq, id, asks, text, hash)
SELECT given.tenant, given.seq, given.id, given.asks, given.text, given.hash
FROM unnest(:tenants::text [], :seqs::int8 [], :ids::uuid [], :asks::uuid [], :texts::text [], :hashes::bytea [])
AS given (tenant, seq, id, asks, text, hash)
