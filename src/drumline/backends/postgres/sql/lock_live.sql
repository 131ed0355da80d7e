-- cancel, reschedule, retry: lock where tasks stand, against claims, settlements and reaps.
SELECT live.id FROM drumline.task_live AS live
WHERE live.id = any(:ids::uuid [])
ORDER BY live.id
FOR UPDATE
