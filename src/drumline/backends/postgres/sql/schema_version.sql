-- migrate: the newest migration that was applied, and the newest major.
SELECT m.number, max(m.major) OVER () AS major FROM drumline.migration AS m ORDER BY m.number DESC LIMIT 1
