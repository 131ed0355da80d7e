-- subscribe: keep a subscription, unless its tenant has another one of that name.
INSERT INTO subscription (id, created_at, channel, tenant, name, filter, address, secrets)
VALUES (:id, :now, :channel, :tenant, :name, :filter, :address, :secrets)
ON CONFLICT DO NOTHING
