-- How many tasks waited (major 1): a level, sampled now and then, by minute and by ten minutes.
-- Where a lane has no row and lane 0 has one, nothing waited; where lane 0 has none, nobody looked.
CREATE TABLE drumline.depth (
    at int8 NOT NULL,
    total int8 NOT NULL, -- tasks that were due and waited, summed over the samples
    sampled_at int8 NOT NULL, -- when the last of them was taken
    step int4 NOT NULL,
    lane int4 NOT NULL, -- 0 stands for the samples themselves: its total is how many were taken
    PRIMARY KEY (step, at, lane)
) WITH (fillfactor = 70);

-- As of `stat` in 0018_wall.sql. When samples were taken is no tenant's secret.
CREATE POLICY wall ON drumline.depth USING (
    current_user NOT LIKE 'drumline\_tenant%'
    OR lane = 0
    OR lane IN (SELECT whose.id FROM drumline.lane AS whose)
);
ALTER TABLE drumline.depth ENABLE ROW LEVEL SECURITY;
