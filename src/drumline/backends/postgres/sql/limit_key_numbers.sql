-- sort keys: the numbers of keys.
SELECT k.key, k.id FROM drumline.limit_key AS k
WHERE k.tenant = :tenant::text AND k.key = any(:keys::text [])
