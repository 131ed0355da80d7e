-- put a runtime configuration: nothing comes back unless :after is the newest version.
INSERT INTO runtime_config (version, changed_at, changed_by, reason, settings)
SELECT :after + 1, :now, :by, :reason, :settings
WHERE :after = (SELECT coalesce(max(version), 0) FROM runtime_config)
RETURNING version, changed_at, changed_by, reason, settings
