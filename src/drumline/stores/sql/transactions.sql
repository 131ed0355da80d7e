-- name: transaction_state (postgres)
-- submit in a caller's transaction: whether the database has this store, or an outbox, and whether the transaction sees what
-- others commit meanwhile.
SELECT
    to_regclass('drumline.task_live') IS NOT NULL AS is_store,
    to_regclass('drumline_outbox') IS NOT NULL AS has_outbox,
    current_setting('transaction_isolation') = 'read committed' AS sees_commits

-- name: transaction_state (sqlite)
-- submit in a caller's transaction: whether the database has this store, or an outbox.
SELECT
    EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'task_live'),
    EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'drumline_outbox'),
    1
