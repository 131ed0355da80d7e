-- read heads: how each chain ends; those of which only rows or only the head are left are listed too.
SELECT given.tenant, coalesce(audit_head.count, 0), coalesce(audit_head.hash, zeroblob(32))
FROM (SELECT tenant FROM audit_head UNION SELECT tenant FROM audit) AS given
LEFT JOIN audit_head ON given.tenant = audit_head.tenant
WHERE :tenant IS NULL OR given.tenant = :tenant
ORDER BY given.tenant
