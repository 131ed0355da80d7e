-- claim mail: for whom mail is due, those waiting longest first.
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8) AS now
),

boxes AS (
    (
        SELECT d.address, d.tenant FROM drumline.delivery AS d
        WHERE d.state = 0 AND d.channel = 1
        ORDER BY d.channel, d.address, d.tenant
        LIMIT 1
    )
    UNION ALL
    SELECT n.address, n.tenant
    FROM boxes AS b
    CROSS JOIN LATERAL (
        SELECT d.address, d.tenant FROM drumline.delivery AS d
        WHERE d.state = 0 AND d.channel = 1 AND (d.address, d.tenant) > (b.address, b.tenant)
        ORDER BY d.channel, d.address, d.tenant
        LIMIT 1
    ) AS n
)

SELECT b.tenant, b.address, clock.now
FROM boxes AS b
CROSS JOIN clock
CROSS JOIN LATERAL (
    SELECT d.next_at FROM drumline.delivery AS d
    WHERE
        d.state = 0 AND d.channel = 1 AND d.address = b.address AND d.tenant = b.tenant AND d.next_at <= clock.now
    ORDER BY d.next_at
    LIMIT 1
) AS first
ORDER BY first.next_at
LIMIT :limit::int4
