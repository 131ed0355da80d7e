-- fail: count dead letters to their causes, and note causes that are new.
--   :batch  JSON list of [lane, fingerprint, kind, message, how many]
INSERT INTO cause (lane, fingerprint, kind, message, count, first_at, last_at)
SELECT
    json_extract(value, '$[0]'),
    json_extract(value, '$[1]'),
    json_extract(value, '$[2]'),
    json_extract(value, '$[3]'),
    json_extract(value, '$[4]'),
    :now,
    :now
FROM json_each(:batch)
WHERE true
ON CONFLICT (lane, fingerprint) DO UPDATE
SET count = cause.count + excluded.count, last_at = max(cause.last_at, excluded.last_at)
