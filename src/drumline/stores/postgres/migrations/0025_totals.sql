-- Totals since the beginning (major 1), beside the figures of each minute and ten minutes: step 0, at 0. And why a
-- consumer of the log cannot pass events on, so that every API server can tell.
ALTER TABLE drumline.stat ADD total_ms int8 NOT NULL DEFAULT 0; -- of step 0: how long it took in all
INSERT INTO drumline.stat (step, at, lane, measure, duration, count)
SELECT 0, 0, s.lane, s.measure, s.duration, sum(s.count) FROM drumline.stat AS s
WHERE s.step = 600000
GROUP BY s.lane, s.measure, s.duration;
ALTER TABLE drumline.event_cursor ADD error text;
