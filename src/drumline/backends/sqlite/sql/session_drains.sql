-- beat: whether the session was asked to drain.
SELECT should_drain FROM session WHERE id = :session
