-- change and delete schedules: lock them, in the order of their ids.
SELECT live.id FROM drumline.schedule_live AS live
WHERE live.id = any(:ids::uuid [])
ORDER BY live.id
FOR UPDATE
