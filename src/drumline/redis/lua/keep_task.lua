-- keep a waiting task: renew what is known of it, if that is still what the store says. A delayed task that has become
-- due is PENDING here and QUEUED there, with no event in between: that is written.
--
-- KEYS  1 task  hash
-- ARGV  1 status in the store   2 how long it is kept, in ms
-- GIVES 1 if it was kept, 0 if something else is known of it, -1 if nothing is
local status = redis.call('HGET', KEYS[1], 'status')
if not status then return -1 end
if status == 'PENDING' and ARGV[1] == 'QUEUED' then
  redis.call('HSET', KEYS[1], 'status', ARGV[1])
elseif status ~= ARGV[1] then
  return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
