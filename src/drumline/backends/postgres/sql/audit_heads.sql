-- read heads: how each chain ends; those of which only rows or only the head are left are listed too.
SELECT given.tenant, coalesce(h.count, 0), coalesce(h.hash, :beginning::bytea)
FROM (
    SELECT h.tenant FROM drumline.audit_head AS h
    UNION
    SELECT a.tenant FROM drumline.audit AS a
) AS given
LEFT JOIN drumline.audit_head AS h ON given.tenant = h.tenant
WHERE :tenant::text IS NULL OR given.tenant = :tenant
ORDER BY given.tenant
