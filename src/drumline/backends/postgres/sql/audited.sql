-- append to the audit log: rows of entries that are there already, since their first answer was lost.
SELECT a.tenant, a.seq, a.id, a.asks, a.text, a.hash FROM drumline.audit AS a WHERE a.id = any(:ids::uuid [])
