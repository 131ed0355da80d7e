-- reschedule: what was asked for has changed.
UPDATE task SET due_at = :due_at, lane = :lane WHERE id = :id
