-- set a limit anew: forget all that was started under it.
DELETE FROM drumline.slot WHERE slot.limit_id = :id::int4
