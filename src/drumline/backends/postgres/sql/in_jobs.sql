-- every act that ends tasks or brings them back: which of these belong to jobs. That never changes.
SELECT member.task_id, member.job_id, member.key
FROM drumline.job_task AS member
WHERE member.task_id = any(:ids::uuid [])
