-- claim: what open sessions can run.
SELECT s.id, s.spec FROM drumline.session AS s WHERE s.id = any(:sessions::int8 []) AND s.closed_at IS NULL
