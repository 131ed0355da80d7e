-- name: change_triage
-- triage: change what was decided about a group; a :decision that is NULL leaves the one there is.
--   :sets_note, :sets_owner   whether these are given at all: NULL takes them away
INSERT INTO drumline.failure_triage AS f (
    tenant, fingerprint, decision, decided_at, decided_by, ignored_until, note, owner, changed_at
)
SELECT
    :tenant::text,
    :fingerprint::text,
    coalesce(:decision::text, 'open'),
    CASE WHEN :decision::text IS NULL THEN NULL ELSE t.now END,
    CASE WHEN :decision::text IS NULL THEN NULL ELSE :by::text END,
    :until::int8,
    :note::text,
    :owner::text,
    t.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE true
ON CONFLICT (tenant, fingerprint) DO UPDATE
SET
    decision = coalesce(:decision::text, f.decision),
    decided_at = CASE WHEN :decision::text IS NULL THEN f.decided_at ELSE excluded.decided_at END,
    decided_by = CASE WHEN :decision::text IS NULL THEN f.decided_by ELSE excluded.decided_by END,
    ignored_until = CASE WHEN :decision::text IS NULL THEN f.ignored_until ELSE excluded.ignored_until END,
    note = CASE WHEN :sets_note::bool THEN excluded.note ELSE f.note END,
    owner = CASE WHEN :sets_owner::bool THEN excluded.owner ELSE f.owner END,
    changed_at = excluded.changed_at
RETURNING fingerprint, decision, decided_at, decided_by, ignored_until, note, owner

-- name: trim_triages
-- triage: forget the groups of a tenant that were changed longest ago, beyond :most.
DELETE FROM drumline.failure_triage AS f
WHERE
    f.tenant = :tenant::text
    AND f.fingerprint IN (
        SELECT o.fingerprint FROM drumline.failure_triage AS o
        WHERE o.tenant = :tenant
        ORDER BY o.changed_at DESC, o.fingerprint
        LIMIT 1000 OFFSET :most::int4
    )
RETURNING fingerprint

-- name: find_triages
-- triage: what was decided about groups of a tenant.
SELECT f.fingerprint, f.decision, f.decided_at, f.decided_by, f.ignored_until, f.note, f.owner
FROM drumline.failure_triage AS f
WHERE f.tenant = :tenant::text AND f.fingerprint = any(:fingerprints::text [])
