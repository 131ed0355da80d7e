-- Figures over time (major 1): what happened how often in a lane, by minute and by ten minutes.
-- Numbers are those of core/stats.py.
CREATE TABLE drumline.stat (
    at int8 NOT NULL,
    count int8 NOT NULL,
    step int4 NOT NULL,
    lane int4 NOT NULL,
    measure int2 NOT NULL,
    duration int2 NOT NULL, -- the class of a duration; 0 for what is only counted
    PRIMARY KEY (step, at, lane, measure, duration)
) WITH (fillfactor = 70);
