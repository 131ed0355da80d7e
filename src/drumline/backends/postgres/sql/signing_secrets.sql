-- secrets: what signs the webhooks that a tenant's tasks and jobs name themselves.
SELECT s.secrets FROM drumline.signing_secret AS s WHERE s.tenant = :tenant::text
