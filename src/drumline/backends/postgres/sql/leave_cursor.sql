-- leave a cursor: let another holder have it at once.
UPDATE drumline.event_cursor AS c SET holder = 0, held_until = 0
WHERE c.consumer = :consumer::text AND c.holder = :holder::int8
