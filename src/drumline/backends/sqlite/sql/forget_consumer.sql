-- forget a consumer: nothing is kept for it any more.
DELETE FROM event_cursor WHERE consumer = :consumer
