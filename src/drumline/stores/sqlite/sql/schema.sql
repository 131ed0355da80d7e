-- name: insert_outbox
-- every act: say what changed, in the transaction that changed it.
INSERT INTO outbox (at, events) VALUES (:now, :events)
