-- trim types: those of a tenant beyond so many, published longest ago.
DELETE FROM task_type
WHERE tenant = :tenant AND name IN (
    SELECT name
    FROM task_type
    WHERE tenant = :tenant
    ORDER BY published_at DESC, name ASC
    LIMIT -1 OFFSET :most
)
