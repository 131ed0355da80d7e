-- claim mail: note a mail to somebody whose mailbox this transaction has locked.
UPDATE drumline.mailbox AS m SET paced_to = :paced_to::int8
WHERE m.tenant = :tenant::text AND m.address = :address::text
