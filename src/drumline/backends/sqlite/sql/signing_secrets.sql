-- secrets: what signs the webhooks that a tenant's tasks and jobs name themselves.
SELECT secrets FROM signing_secret WHERE tenant = :tenant
