-- sort keys, set a limit: every lane, and whether it is a twin.
SELECT lane.id, lane.is_keyed, lane.tenant, lane.queue, lane.name, lane.priority FROM drumline.lane
