-- Pruning (major 1): ended tasks leave as fast as they come, and what they leave behind is to be used again soon. A fifth
-- of a large table is more than a vacuum should find at once, and than a batch should have to walk past in the index.
ALTER TABLE drumline.task SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE drumline.attempt SET (autovacuum_vacuum_scale_factor = 0.05);
