-- secrets: what signs the webhooks of a subscription.
SELECT s.secrets FROM drumline.subscription AS s
WHERE s.id = :id::uuid AND (:tenant::text IS NULL OR s.tenant = :tenant)
