-- record: end subscriptions whose receivers said so.
UPDATE drumline.subscription AS s
SET is_enabled = false, disabled_reason = :reason::text
WHERE s.id = any(:ids::uuid []) AND s.is_enabled
