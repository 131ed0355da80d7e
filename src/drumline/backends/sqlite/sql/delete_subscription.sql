-- unsubscribe: forget a subscription.
DELETE FROM subscription WHERE id = :id AND (:tenant IS NULL OR tenant = :tenant)
