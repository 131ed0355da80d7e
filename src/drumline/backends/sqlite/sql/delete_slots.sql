-- delete a limit, or set it anew: forget all that was started under it.
DELETE FROM slot WHERE limit_id = :id
