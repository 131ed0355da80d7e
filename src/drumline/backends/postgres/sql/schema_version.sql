-- migrate: the migrations that were applied, newest first, and the newest major.
SELECT m.number, max(m.major) OVER () AS major FROM drumline.migration AS m ORDER BY m.number DESC
