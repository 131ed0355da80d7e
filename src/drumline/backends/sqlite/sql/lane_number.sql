-- submit, reschedule: the number of a lane.
SELECT id FROM lane WHERE tenant = ? AND queue = ? AND name = ? AND priority = ? AND is_keyed = 0
