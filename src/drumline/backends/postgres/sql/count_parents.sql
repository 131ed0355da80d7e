-- every act that ends tasks or brings them back: what blocked tasks still wait for.
--   :ids …  arrays of equal length, sorted by id, each once
UPDATE drumline.job_task AS member
SET
    pending = (:pending::int4 [])[width_bucket(member.task_id, :ids::uuid [])],
    bad = (:bad::int4 [])[width_bucket(member.task_id, :ids)],
    cause = NULL
WHERE member.task_id = any(:ids)
