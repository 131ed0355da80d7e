-- upcoming: every lane that is under no limit.
SELECT lane.id, lane.tenant, lane.queue, lane.name, lane.priority FROM lane
WHERE
    lane.is_keyed = 0
    AND NOT EXISTS (
        SELECT 1 FROM flow_limit AS f
        WHERE
            f.tenant = lane.tenant
            AND coalesce(f.queue, lane.queue) = lane.queue
            AND coalesce(f.task, lane.name) = lane.name
    )
