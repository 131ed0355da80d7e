-- Totals since the beginning (major 1), beside the figures of each minute and ten minutes: step 0, at 0. And why a
-- consumer of the log cannot pass events on, so that every API server can tell.
ALTER TABLE stat ADD COLUMN total_ms INTEGER NOT NULL DEFAULT 0; -- of step 0: how long it took in all
INSERT INTO stat (step, at, lane, measure, duration, count)
SELECT 0, 0, lane, measure, duration, sum(count) FROM stat
WHERE step = 600000
GROUP BY lane, measure, duration;
ALTER TABLE event_cursor ADD COLUMN error TEXT;
