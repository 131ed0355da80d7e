-- runtime history: versions of the runtime configuration, newest first, below :before.
SELECT version, changed_at, changed_by, reason, settings
FROM runtime_config
WHERE :before IS NULL OR version < :before
ORDER BY version DESC
LIMIT :limit
