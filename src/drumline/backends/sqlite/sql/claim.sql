-- claim: lease tasks to a session.
--   transition  queued -> running
--   fence       epoch rises, nonce is new
--   :ids, :lanes  JSON lists; a task in another lane is not this session's to run
UPDATE task_live
SET
    state = 2,
    epoch = epoch + 1,
    attempt = attempt + 1,
    nonce = :nonce,
    session = :session,
    started_at = :now
WHERE
    id IN (SELECT value FROM json_each(:ids))
    AND lane IN (SELECT value FROM json_each(:lanes))
    AND state = 1
    AND due_at <= :now
