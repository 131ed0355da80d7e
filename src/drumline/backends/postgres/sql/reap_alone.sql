-- reap: whether this pass is the only one; another one under way does the same work.
SELECT pg_try_advisory_xact_lock(:key::int8) AS is_alone
