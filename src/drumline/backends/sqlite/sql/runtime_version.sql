-- runtime version: the number of the newest runtime configuration.
SELECT coalesce(max(version), 0) FROM runtime_config
