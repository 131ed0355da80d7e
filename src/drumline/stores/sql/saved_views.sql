-- name: count_views
-- views: how many an owner has, besides one of this page and name.
SELECT count(*) AS number FROM drumline.saved_view AS v
WHERE
    v.tenant = :tenant::text AND v.owner = :owner::text AND NOT (v.page = :page::text AND v.name = :name::text)

-- name: save_view
-- views: keep one in place of the one of its owner, page and name.
INSERT INTO drumline.saved_view AS v (
    tenant, owner, page, name, is_shared, filter, columns, created_at, updated_at
)
SELECT
    :tenant::text, :owner::text, :page::text, :name::text, :is_shared::bool, :filter::text, :columns::text, t.now, t.now
FROM (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS t
WHERE true
ON CONFLICT (tenant, page, owner, name) DO UPDATE
SET
    is_shared = excluded.is_shared,
    filter = excluded.filter,
    columns = excluded.columns,
    updated_at = excluded.updated_at
RETURNING tenant, owner, page, name, is_shared, filter, columns, created_at, updated_at

-- name: find_view
-- views: whether there is one.
SELECT v.name FROM drumline.saved_view AS v
WHERE v.tenant = :tenant::text AND v.page = :page::text AND v.owner = :owner::text AND v.name = :name::text

-- name: list_views
-- views: those of an owner, and those that others share. A :page that is NULL does not narrow.
SELECT v.tenant, v.owner, v.page, v.name, v.is_shared, v.filter, v.columns, v.created_at, v.updated_at
FROM drumline.saved_view AS v
WHERE
    v.tenant = :tenant::text
    AND (:page::text IS NULL OR v.page = :page)
    AND (v.owner = :owner::text OR v.is_shared)
ORDER BY v.page, v.name, v.owner
LIMIT :limit::int4

-- name: delete_view
-- views: forget one.
DELETE FROM drumline.saved_view AS v
WHERE v.tenant = :tenant::text AND v.page = :page::text AND v.owner = :owner::text AND v.name = :name::text
RETURNING tenant, owner, page, name, is_shared, filter, columns, created_at, updated_at
