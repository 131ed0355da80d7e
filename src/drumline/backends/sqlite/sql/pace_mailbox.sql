-- claim mail: note a mail to somebody.
INSERT INTO mailbox (tenant, address, paced_to) VALUES (:tenant, :address, :paced_to)
ON CONFLICT (tenant, address) DO UPDATE SET paced_to = excluded.paced_to
