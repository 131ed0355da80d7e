-- queue deliveries: keep what has to be delivered; what is there already, by event and target, is left out.
--   :batch  JSON list of [id, subscription, channel, tenant, event id, event type, subject, address, event]
INSERT INTO delivery (
    id, subscription, created_at, next_at, channel, tenant, event_id, event_type, subject, address, event
)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    :now,
    :now,
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    json_extract(value, '$[5]'),
    json_extract(value, '$[6]'),
    json_extract(value, '$[7]'),
    json_extract(value, '$[8]')
FROM json_each(:batch)
WHERE true
ON CONFLICT DO NOTHING
