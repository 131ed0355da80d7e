-- note a status: write where a task stands.
--
-- KEYS  1 status  string
-- ARGV  1 rule: absent   only if nothing is known of it
--               unless_ended   unless it is known to have ended
--               always
--       2 how long it is kept, in ms   3 status
-- GIVES 1 if it was written, else 0
local ENDED = { COMPLETED = true, FAILED = true, CANCELLED = true, SKIPPED = true }
local rule, status = ARGV[1], redis.call('GET', KEYS[1])
if rule == 'absent' and status or rule == 'unless_ended' and ENDED[status] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
return 1
