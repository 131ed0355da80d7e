-- advance a bulk operation: note how far it has come. At its last task it has ended.
UPDATE bulk
SET
    position = position + :count,
    failed = failed + :failed,
    skipped = skipped + :skipped,
    tokens = :tokens,
    tokens_at = :now,
    state = CASE WHEN position + :count >= total THEN 'completed' ELSE state END,
    finished_at = CASE WHEN position + :count >= total THEN :now END
WHERE id = :id
