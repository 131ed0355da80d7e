-- delete a limit.
DELETE FROM flow_limit WHERE id = :id
