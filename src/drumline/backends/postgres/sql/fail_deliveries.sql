-- give up what waits to be delivered for subscriptions that are no more.
--   transition  pending -> failed
UPDATE drumline.delivery AS d
SET
    state = 2, next_at = NULL, holder = 0, error = :error::text,
    finished_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE d.subscription = any(:subscriptions::uuid []) AND d.state = 0
