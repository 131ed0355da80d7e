-- name: list_audit
-- list the audit log: newest first, below :before. What is NULL does not narrow.
-- Rows of earlier versions may have NUL in them, which PostgreSQL takes for no text at all.
--   :every  to list what was asked even where its answer is listed too
SELECT a.tenant, a.seq, a.id, a.asks, a.text, a.hash
FROM drumline.audit AS a
WHERE
    (:before::uuid IS NULL OR a.id < :before)
    AND (:tenant::text IS NULL OR a.tenant = :tenant)
    AND (:act::text IS NULL OR replace(a.text, '\u0000', '\ufffd')::json ->> 'act' = :act)
    AND (:key::text IS NULL OR replace(a.text, '\u0000', '\ufffd')::json ->> 'key' = :key)
    AND (:target::text IS NULL OR replace(a.text, '\u0000', '\ufffd')::json ->> 'target' = :target)
    AND (:since::int8 IS NULL OR (replace(a.text, '\u0000', '\ufffd')::json ->> 'at')::int8 >= :since)
    AND (:until::int8 IS NULL OR (replace(a.text, '\u0000', '\ufffd')::json ->> 'at')::int8 < :until)
    AND (:every::bool OR NOT EXISTS (SELECT 1 FROM drumline.audit AS answer WHERE answer.asks = a.id))
ORDER BY a.id DESC
LIMIT :limit::int4

-- name: audit_chain
-- read a chain: a stretch of it, in its order.
SELECT a.tenant, a.seq, a.id, a.asks, a.text, a.hash
FROM drumline.audit AS a
WHERE a.tenant = :tenant::text AND a.seq > :after::int8
ORDER BY a.seq
LIMIT :limit::int4

-- name: audit_heads
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

-- name: audited
-- append to the audit log: rows of entries that are there already, since their first answer was lost.
SELECT a.tenant, a.seq, a.id, a.asks, a.text, a.hash FROM drumline.audit AS a WHERE a.id = any(:ids::uuid [])

-- name: append_audit
-- append to the audit log: rows, as lists of equal length.
INSERT INTO drumline.audit (tenant, seq, id, asks, text, hash)
SELECT given.tenant, given.seq, given.id, given.asks, given.text, given.hash
FROM unnest(:tenants::text [], :seqs::int8 [], :ids::uuid [], :asks::uuid [], :texts::text [], :hashes::bytea [])
AS given (tenant, seq, id, asks, text, hash)

-- name: move_audit_heads
-- append to the audit log: how chains end now.
UPDATE drumline.audit_head AS h
SET count = given.count, hash = given.hash
FROM unnest(:tenants::text [], :counts::int8 [], :hashes::bytea []) AS given (tenant, count, hash)
WHERE h.tenant = given.tenant

-- name: lock_audit_heads
-- append to the audit log: how chains end, locked until that is done, and the time.
SELECT h.tenant, h.count, h.hash, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
FROM drumline.audit_head AS h
WHERE h.tenant = any(:tenants::text [])
ORDER BY h.tenant
FOR UPDATE

-- name: begin_audit
-- append to the audit log: heads of chains that are new.
INSERT INTO drumline.audit_head (tenant, count, hash)
SELECT given.tenant, 0, :beginning::bytea FROM unnest(:tenants::text []) AS given (tenant)
ORDER BY given.tenant
ON CONFLICT (tenant) DO NOTHING
