-- sort keys: the number of the twin of a lane.
SELECT id FROM lane WHERE tenant = ? AND queue = ? AND name = ? AND priority = ? AND is_keyed = 1
