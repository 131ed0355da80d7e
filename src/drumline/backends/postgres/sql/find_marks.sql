-- find marks: when each was left.
SELECT m.name, m.left_at
FROM drumline.sign_in_mark AS m
WHERE m.name = any(:names::text [])
