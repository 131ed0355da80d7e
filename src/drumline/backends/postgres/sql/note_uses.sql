-- note uses: add to how often keys were used, and when last.
--   :keys, :counts, :times  lists of equal length; rows are locked in the order of ids, as by every server
WITH locked AS MATERIALIZED (
    SELECT k.id FROM drumline.api_key AS k WHERE k.id = any(:keys::uuid []) ORDER BY k.id FOR UPDATE
)

UPDATE drumline.api_key AS k
SET uses = k.uses + given.count, last_used_at = greatest(k.last_used_at, given.at)
FROM unnest(:keys::uuid [], :counts::int8 [], :times::int8 []) AS given (id, count, at)
WHERE k.id = given.id AND k.id = any(ARRAY(SELECT locked.id FROM locked))
