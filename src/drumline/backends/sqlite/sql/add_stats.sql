-- gather stats: add counts, given as a list of [step, at, lane, measure, duration, count, total_ms].
INSERT INTO stat (step, at, lane, measure, duration, count, total_ms)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(:batch)
WHERE true
ON CONFLICT (step, at, lane, measure, duration) DO UPDATE
SET count = count + excluded.count, total_ms = total_ms + excluded.total_ms
