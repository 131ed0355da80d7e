-- resend: let a delivery be tried again, now. A try that is under way loses it.
--   transition  any -> pending
UPDATE drumline.delivery AS d
SET
    state = 0, holder = 0, attempts = 0, finished_at = NULL,
    next_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE d.id = :id::uuid AND (:tenant::text IS NULL OR d.tenant = :tenant)
RETURNING d.id
