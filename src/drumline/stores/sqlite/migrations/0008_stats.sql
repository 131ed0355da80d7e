-- Figures over time: what happened how often in a lane, by minute and by ten minutes. Numbers are those of core/stats.py.
CREATE TABLE stat (
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    measure INTEGER NOT NULL,
    duration INTEGER NOT NULL, -- the class of a duration; 0 for what is only counted
    count INTEGER NOT NULL,
    PRIMARY KEY (step, at, lane, measure, duration)
) WITHOUT ROWID;
