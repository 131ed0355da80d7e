-- abort a bulk operation.
UPDATE bulk SET state = 'aborted', finished_at = :now WHERE id = :id AND state = 'running'
