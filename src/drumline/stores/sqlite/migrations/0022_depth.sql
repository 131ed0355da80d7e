-- How many tasks waited (major 1): a level, sampled now and then, by minute and by ten minutes.
-- Where a lane has no row and lane 0 has one, nothing waited; where lane 0 has none, nobody looked.
CREATE TABLE depth (
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    lane INTEGER NOT NULL, -- 0 stands for the samples themselves: its total is how many were taken
    total INTEGER NOT NULL, -- tasks that were due and waited, summed over the samples
    sampled_at INTEGER NOT NULL, -- when the last of them was taken
    PRIMARY KEY (step, at, lane)
) WITHOUT ROWID;
