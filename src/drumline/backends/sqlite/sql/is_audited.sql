-- append to the audit log: the row of an entry that is there already, since its first answer was lost.
SELECT tenant, seq, id, asks, text, hash FROM audit WHERE id = :id
