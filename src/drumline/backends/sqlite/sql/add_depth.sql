-- sample depth: add counts, given as a list of [step, at, lane, count], to the sums.
INSERT INTO depth (step, at, lane, total, sampled_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, :now FROM json_each(:batch)
WHERE true
ON CONFLICT (step, at, lane) DO UPDATE
SET total = total + excluded.total, sampled_at = max(sampled_at, excluded.sampled_at)
