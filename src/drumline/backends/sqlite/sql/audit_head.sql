-- append to the audit log: how a chain ends.
SELECT count, hash FROM audit_head WHERE tenant = :tenant
