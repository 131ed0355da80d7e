-- claim: what open sessions can run.
SELECT session.id, session.spec
FROM json_each(:sessions) AS given
INNER JOIN session ON given.value = session.id
WHERE session.closed_at IS NULL
