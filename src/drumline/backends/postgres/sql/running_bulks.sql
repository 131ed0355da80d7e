-- bulk operations: those that have not ended.
SELECT b.id FROM drumline.bulk AS b WHERE b.state = 'running' ORDER BY b.id
