-- name: insert_outbox
-- every act that is not hot: write changes of tasks into the outbox, in the transaction that makes them.
--   :tasks …  arrays of equal length
INSERT INTO drumline.outbox (at, tasks, acts, states, epochs)
VALUES (
    coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
    :tasks::uuid [], :acts::int2 [], :states::int2 [], :epochs::int4 []
)

-- name: insert_facts
-- tell facts: write changes of anything but tasks into the outbox.
--   :facts  a JSON list of [type, subject, tenant, data]
INSERT INTO drumline.outbox (at, tasks, acts, states, epochs, facts)
VALUES (coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8), '{}', '{}', '{}', '{}', :facts::text)
