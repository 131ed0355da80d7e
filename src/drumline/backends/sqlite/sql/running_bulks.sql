-- bulk operations: those that have not ended.
SELECT id FROM bulk WHERE state = 'running' ORDER BY id
