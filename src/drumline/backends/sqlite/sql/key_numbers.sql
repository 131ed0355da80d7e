-- sort keys: the numbers of keys.
SELECT key, id FROM limit_key
WHERE tenant = :tenant AND key IN (SELECT value FROM json_each(:keys))
