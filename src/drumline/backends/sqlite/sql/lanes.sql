-- upcoming: every lane.
SELECT id, tenant, queue, name, priority FROM lane
