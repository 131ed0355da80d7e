-- advance a bulk operation: note how far it has come, and why the act does not hold for some tasks. At its last task it
-- has ended.
--   :seqs, :outcomes, :errors  arrays of equal length
WITH refused AS (
    UPDATE drumline.bulk_item AS item
    SET outcome = g.outcome, error = g.error
    FROM unnest(:seqs::int4 [], :outcomes::text [], :errors::text []) AS g (seq, outcome, error)
    WHERE item.bulk_id = :id::uuid AND item.seq = g.seq
)

UPDATE drumline.bulk AS b
SET
    position = b.position + :count::int4,
    failed = b.failed + :failed::int4,
    skipped = b.skipped + :skipped::int4,
    tokens = :tokens::float8,
    tokens_at = :now::int8,
    state = CASE WHEN b.position + :count >= b.total THEN 'completed' ELSE b.state END,
    finished_at = CASE WHEN b.position + :count >= b.total THEN :now END
WHERE b.id = :id
