-- name: runtime_version
-- runtime version: the number of the newest runtime configuration.
SELECT coalesce(max(c.version), 0)::int8 FROM drumline.runtime_config AS c

-- name: runtime_history
-- runtime history: versions of the runtime configuration, newest first, below :before.
SELECT c.version, c.changed_at, c.changed_by, c.reason, c.settings
FROM drumline.runtime_config AS c
WHERE :before::int8 IS NULL OR c.version < :before
ORDER BY c.version DESC
LIMIT :limit::int4

-- name: put_runtime_config
-- put a runtime configuration: nothing comes back unless :after is the newest version, whoever comes at the same time.
INSERT INTO drumline.runtime_config (version, changed_at, changed_by, reason, settings)
SELECT
    :after::int8 + 1, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    :by::text, :reason::text, :settings::text
WHERE :after = (SELECT coalesce(max(c.version), 0) FROM drumline.runtime_config AS c)
ON CONFLICT (version) DO NOTHING
RETURNING version, changed_at, changed_by, reason, settings

-- name: prune_runtime_config
-- prune the history of the runtime configuration: versions up to :until.
DELETE FROM drumline.runtime_config WHERE version <= :until::int8
