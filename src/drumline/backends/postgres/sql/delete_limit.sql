-- delete a limit, and what was started under it.
WITH gone AS (
    DELETE FROM drumline.slot WHERE slot.limit_id = :id::int4
)

DELETE FROM drumline.flow_limit WHERE flow_limit.id = :id
