-- note a task, or a job: write what is known of it into its hash.
--
-- KEYS  1 task or job  hash
-- ARGV  1 rule: absent   only if nothing is known of it
--               unless_ended   unless it is known to have ended
--               present   only if it is known
--               always
--       2 how long it is kept, in ms   3… field, value, field, value …
-- GIVES 1 if it was written, else 0
local ENDED = { COMPLETED = true, FAILED = true, CANCELLED = true, SKIPPED = true }
local rule, status = ARGV[1], redis.call('HGET', KEYS[1], 'status')
if rule == 'absent' and status or rule == 'present' and not status or rule == 'unless_ended' and ENDED[status] then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
