-- sort keys: give keys a number.
INSERT INTO limit_key (tenant, key)
SELECT :tenant, value FROM json_each(:keys)
WHERE true
ON CONFLICT DO NOTHING
