-- advance a bulk operation: note why the act does not hold for some tasks.
--   :batch  JSON list of [seq, outcome, error]
UPDATE bulk_item
SET outcome = json_extract(given.value, '$[1]'), error = json_extract(given.value, '$[2]')
FROM json_each(:batch) AS given
WHERE bulk_item.bulk_id = :id AND bulk_item.seq = json_extract(given.value, '$[0]')
