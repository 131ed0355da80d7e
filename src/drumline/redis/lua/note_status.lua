-- note a status: write where a task stands.
--
-- KEYS  1 status  string   2 order  string, the highest that is known
-- ARGV  1 rule: absent   only if nothing is known of it
--               unless_ended   unless it is known to have ended
--               always
--       2 how long it is kept, in ms   3 order of this note, or 0: one of a lower order comes too late
--       4 whether the order is kept too   5 status
-- GIVES 1 if it was written, else 0
local ENDED = { COMPLETED = true, FAILED = true, CANCELLED = true, SKIPPED = true }
local rule, order, status = ARGV[1], tonumber(ARGV[3]), redis.call('GET', KEYS[1])
if rule == 'absent' and status or rule == 'unless_ended' and ENDED[status] then return 0 end
if order > 0 and order < tonumber(redis.call('GET', KEYS[2]) or 0) then return 0 end
if ARGV[4] == '1' then redis.call('SET', KEYS[2], order, 'PX', ARGV[2]) end
redis.call('SET', KEYS[1], ARGV[5], 'PX', ARGV[2])
return 1
