-- claim mail: let what is due for somebody wait for its turn.
UPDATE delivery SET next_at = :until
WHERE state = 0 AND channel = 1 AND address = :address AND tenant = :tenant AND next_at <= :now
