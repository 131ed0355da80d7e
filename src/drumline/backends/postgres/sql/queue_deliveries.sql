-- queue deliveries: keep what has to be delivered; what is there already, by event and target, is left out.
INSERT INTO drumline.delivery (
    id, subscription, created_at, next_at, channel, tenant, event_id, event_type, subject, address, event
)
SELECT
    g.id, g.subscription, clock.now, clock.now, g.channel, g.tenant, g.event_id, g.event_type, g.subject, g.address,
    g.event
FROM
    unnest(
        :ids::uuid [], :subscriptions::uuid [], :channels::int2 [], :tenants::text [], :event_ids::text [],
        :event_types::text [], :subjects::text [], :addresses::text [], :events::text []
    ) AS g (id, subscription, channel, tenant, event_id, event_type, subject, address, event),
    (SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now) AS clock
ON CONFLICT DO NOTHING
