-- delete a secret: its name comes back if there was one.
DELETE FROM drumline.secret AS s WHERE s.tenant = :tenant::text AND s.name = :name::text RETURNING s.name
