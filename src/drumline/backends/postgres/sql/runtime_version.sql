-- runtime version: the number of the newest runtime configuration.
SELECT coalesce(max(c.version), 0)::int8 FROM drumline.runtime_config AS c
