-- claim mail: lock somebody's mailbox, made if there is none; no row if another notifier has it.
WITH made AS (
    INSERT INTO drumline.mailbox (tenant, address, paced_to)
    VALUES (:tenant::text, :address::text, 0)
    ON CONFLICT DO NOTHING
    RETURNING mailbox.paced_to
),

found AS (
    SELECT m.paced_to FROM drumline.mailbox AS m
    WHERE m.tenant = :tenant AND m.address = :address
    FOR UPDATE SKIP LOCKED
)

SELECT made.paced_to FROM made
UNION ALL
SELECT found.paced_to FROM found
