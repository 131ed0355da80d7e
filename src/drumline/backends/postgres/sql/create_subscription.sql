-- subscribe: keep a subscription, unless its tenant has another one of that name.
INSERT INTO drumline.subscription (id, created_at, channel, tenant, name, filter, address, secrets)
VALUES (
    :id::uuid, coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), :channel::int2, :tenant::text,
    :name::text, :filter::text, :address::text, :secrets::text
)
ON CONFLICT DO NOTHING
