-- delete schedules: what they were, where they stood, and the notes of their runs.
WITH run AS (
    DELETE FROM drumline.schedule_run WHERE schedule_id = any(:ids::uuid [])
),

live AS (
    DELETE FROM drumline.schedule_live WHERE id = any(:ids)
)

DELETE FROM drumline.schedule WHERE id = any(:ids)
