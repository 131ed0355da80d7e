-- runtime history: versions of the runtime configuration, newest first, below :before.
SELECT c.version, c.changed_at, c.changed_by, c.reason, c.settings
FROM drumline.runtime_config AS c
WHERE :before::int8 IS NULL OR c.version < :before
ORDER BY c.version DESC
LIMIT :limit::int4
