-- trim types: those of a tenant beyond so many, published longest ago.
DELETE FROM drumline.task_type AS gone
USING (
    SELECT t.name
    FROM drumline.task_type AS t
    WHERE t.tenant = :tenant::text
    ORDER BY t.published_at DESC, t.name ASC
    OFFSET :most::int4
) AS old
WHERE gone.tenant = :tenant::text AND gone.name = old.name
