-- abort a bulk operation.
UPDATE drumline.bulk AS b
SET
    state = 'aborted',
    finished_at = coalesce(:now::int8, (extract(EPOCH FROM clock_timestamp()) * 1000)::int8)
WHERE b.id = :id::uuid AND b.state = 'running'
RETURNING b.id
