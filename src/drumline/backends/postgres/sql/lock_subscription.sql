-- change a subscription: lock it.
SELECT s.id FROM drumline.subscription AS s
WHERE s.id = :id::uuid AND (:tenant::text IS NULL OR s.tenant = :tenant)
FOR UPDATE
