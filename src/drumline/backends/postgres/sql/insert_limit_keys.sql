-- sort keys: give keys a number. Sorted, so that no two callers wait for each other.
INSERT INTO drumline.limit_key (tenant, key)
SELECT :tenant::text, g.key FROM unnest(:keys::text []) AS g (key)
ON CONFLICT DO NOTHING
