-- record: end a subscription whose receiver said so.
UPDATE subscription SET is_enabled = 0, disabled_reason = :reason WHERE id = :id AND is_enabled
