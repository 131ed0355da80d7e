-- retry: give a task that this transaction has locked another payload, and keep what it was given up to an epoch.
-- GIVES what it was given
WITH kept AS (
    INSERT INTO drumline.payload_edit (task_id, epoch, at, payload)
    SELECT
        task.id,
        :epoch::int4,
        coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8),
        task.payload
    FROM drumline.task
    WHERE task.id = :id::uuid
    RETURNING payload
),

edited AS (
    UPDATE drumline.task SET payload = :payload::bytea WHERE task.id = :id
)

SELECT kept.payload FROM kept
