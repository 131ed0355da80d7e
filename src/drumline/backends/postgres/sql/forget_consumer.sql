-- forget a consumer: nothing is kept for it any more.
DELETE FROM drumline.event_cursor AS c WHERE c.consumer = :consumer::text
RETURNING c.consumer
