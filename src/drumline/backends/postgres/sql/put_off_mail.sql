-- claim mail: let what is due for somebody wait for its turn.
UPDATE drumline.delivery AS d
SET next_at = :until::int8
WHERE
    d.state = 0 AND d.channel = 1 AND d.address = :address::text AND d.tenant = :tenant::text
    AND d.next_at <= :now::int8
