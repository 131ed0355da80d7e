-- find marks: when each was left.
SELECT name, left_at FROM sign_in_mark WHERE name IN (SELECT value FROM json_each(:names))
