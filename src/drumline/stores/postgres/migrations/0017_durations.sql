-- How long what ended had waited and run, beside what happened (major 1), so that figures are counted from the log
-- alone. Lists in the order of the tasks; NULL where they are not known, or in rows of before.
ALTER TABLE drumline.outbox
ADD lanes int4 [], -- where the tasks of the row are not all of one lane
ADD waits int4 [], -- in milliseconds; of first attempts only, as is counted
ADD runs int4 [];
ALTER TABLE drumline.outbox
ALTER lanes SET STORAGE EXTERNAL,
ALTER waits SET STORAGE EXTERNAL,
ALTER runs SET STORAGE EXTERNAL;
