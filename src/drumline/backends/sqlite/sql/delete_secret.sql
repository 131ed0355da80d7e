-- delete a secret.
DELETE FROM secret WHERE tenant = :tenant AND name = :name
