-- migrate: wait until no other migration is under way, until the end of the transaction.
SELECT pg_advisory_xact_lock(:key::int8)
