-- claim: read the payloads of claimed tasks that were too large to come with the claim.
--   :ids    the tasks, best first
--   :most   how many bytes they may have together; the first is read whatever it has
-- GIVES the ids and payloads of the first of them that are no more than that
SELECT sized.id, sized.payload
FROM (
    SELECT
        given.id, given.place, wide.payload,
        sum(octet_length(wide.payload)) OVER (ORDER BY given.place ROWS UNBOUNDED PRECEDING) AS size
    FROM unnest(:ids::uuid []) WITH ORDINALITY AS given (id, place)
    CROSS JOIN LATERAL (
        SELECT task.payload FROM drumline.task WHERE task.id = given.id OFFSET 0
    ) AS wide
) AS sized
WHERE sized.size <= :most::int8 OR sized.place = 1
