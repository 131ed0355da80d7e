-- claim mail: how far ahead somebody's mails are.
SELECT paced_to FROM mailbox WHERE tenant = :tenant AND address = :address
