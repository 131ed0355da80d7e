-- put a runtime configuration: nothing comes back unless :after is the newest version, whoever comes at the same time.
INSERT INTO drumline.runtime_config (version, changed_at, changed_by, reason, settings)
SELECT
    :after::int8 + 1, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    :by::text, :reason::text, :settings::text
WHERE :after = (SELECT coalesce(max(c.version), 0) FROM drumline.runtime_config AS c)
ON CONFLICT (version) DO NOTHING
RETURNING version, changed_at, changed_by, reason, settings
