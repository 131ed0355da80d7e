-- reseal secrets: replace sealed values that still are the old ones; the values in them are the same.
--   all lists are of equal length; rows are locked in the order of their keys
WITH locked AS MATERIALIZED (
    SELECT s.tenant, s.name FROM drumline.secret AS s
    WHERE (s.tenant, s.name) IN (SELECT * FROM unnest(:tenants::text [], :names::text []))
    ORDER BY s.tenant, s.name
    FOR UPDATE
)

UPDATE drumline.secret AS s
SET sealed = given.sealed, key_id = given.key_id
FROM
    unnest(:tenants::text [], :names::text [], :olds::bytea [], :sealed::bytea [], :key_ids::text [])
        AS given (tenant, name, old, sealed, key_id)
WHERE
    s.tenant = given.tenant AND s.name = given.name AND s.sealed = given.old
    AND EXISTS (SELECT 1 FROM locked AS l WHERE l.tenant = s.tenant AND l.name = s.name)
RETURNING s.name
