-- name: insert_facts
-- tell facts: write changes of anything but tasks into the outbox.
INSERT INTO outbox (at, events, facts) VALUES (:now, '[]', :facts)
