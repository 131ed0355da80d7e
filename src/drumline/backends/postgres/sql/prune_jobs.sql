-- prune: delete jobs that this transaction has locked, but for their tasks.
-- GIVES the tasks that have to go with them
WITH gone AS (
    DELETE FROM drumline.job_task AS member WHERE member.job_id = any(:ids::uuid [])
    RETURNING member.task_id
),

edges AS (
    DELETE FROM drumline.task_edge AS edge WHERE edge.parent = any(ARRAY(SELECT gone.task_id FROM gone))
),

deps AS (
    DELETE FROM drumline.job_dep AS dep WHERE dep.job_id = any(:ids)
),

jobs AS (
    DELETE FROM drumline.job WHERE job.id = any(:ids)
)

SELECT gone.task_id FROM gone
