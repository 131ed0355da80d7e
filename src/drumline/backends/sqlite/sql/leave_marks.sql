-- leave marks: of those that were there, only the time changes.
--   :marks  [[name, lasts], …]
INSERT INTO sign_in_mark (name, left_at, until)
SELECT value ->> 0, :now, :now + (value ->> 1) FROM json_each(:marks) WHERE true
ON CONFLICT (name) DO UPDATE SET
    left_at = max(left_at, excluded.left_at), until = max(until, excluded.until)
