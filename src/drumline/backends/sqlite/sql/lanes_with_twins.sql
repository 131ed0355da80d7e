-- sort keys, set a limit: every lane, and whether it is a twin.
SELECT id, is_keyed, tenant, queue, name, priority FROM lane
