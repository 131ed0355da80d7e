-- note uses: add to how often keys were used, and when last.
--   :batch  JSON list of [key, count, last at]
UPDATE api_key
SET
    uses = uses + json_extract(given.value, '$[1]'),
    last_used_at = max(coalesce(last_used_at, 0), json_extract(given.value, '$[2]'))
FROM json_each(:batch) AS given
WHERE api_key.id = json_extract(given.value, '$[0]')
