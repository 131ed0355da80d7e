-- keep a waiting task's status, as keep_task.lua keeps its hash; one that has expired is written anew.
--
-- KEYS  1 status  string
-- ARGV  1 status in the store   2 how long it is kept, in ms
-- GIVES 1 if it was kept, 0 if something else is known of it
local status = redis.call('GET', KEYS[1])
if status and status ~= ARGV[1] and not (status == 'PENDING' and ARGV[1] == 'QUEUED') then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
