-- secrets: what signs the webhooks of a subscription.
SELECT secrets FROM subscription WHERE id = :id AND (:tenant IS NULL OR tenant = :tenant)
