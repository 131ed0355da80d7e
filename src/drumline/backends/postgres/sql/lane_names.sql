-- The words behind lane numbers.
SELECT lane.id, lane.tenant, lane.queue, lane.name, lane.priority
FROM drumline.lane
WHERE lane.id = any(:lanes::int4 [])
