-- tell facts: write changes of anything but tasks into the outbox.
--   :facts  a JSON list of [type, subject, tenant, data]
INSERT INTO drumline.outbox (at, tasks, acts, states, epochs, facts)
VALUES (coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), '{}', '{}', '{}', '{}', :facts::text)
