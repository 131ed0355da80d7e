-- every act that ends tasks or brings them back: which of these belong to jobs. That never changes.
SELECT member.task_id::text, member.job_id::text, member.key
FROM drumline.job_task AS member
WHERE member.task_id = any(:ids::uuid [])
