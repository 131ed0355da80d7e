-- every act that ends tasks: because of which task others were skipped.
--   :ids, :causes  arrays of equal length, sorted by id, each once
UPDATE drumline.job_task AS member
SET cause = (:causes::uuid [])[width_bucket(member.task_id, :ids::uuid [])]
WHERE member.task_id = any(:ids)
