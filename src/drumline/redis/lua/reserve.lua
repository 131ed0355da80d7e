-- reserve: take the session off the list that has waited longest, of those to which a task of a lane can be leased.
--
-- The lane has to be empty, else the task would overtake what waits there, and its queue not paused. Only sessions are
-- taken that have told the name of the claim with which they wait (their process understands what it will hear) and whose
-- process listens; one that does not has ended.
--
-- KEYS  1 skew   2 more   3 lane prefix   4 paused   5 idle   6 prefix of the names of claims
--       7 prefix of the channels of processes
-- ARGV  1 now in ms, or '' for this server's clock   2 lane
-- GIVES { process, session, nonce, the session as it is listed, since when }, or nothing
local lane, now = ARGV[2], time_of(ARGV[1], redis.call('GET', KEYS[1]))
if
  redis.call('EXISTS', KEYS[3] .. lane) == 1
  or redis.call('ZSCORE', KEYS[2], lane)
  or redis.call('SISMEMBER', KEYS[4], string.match(lane, '^%S+ %S+')) == 1
then
  return false
end
local listed = redis.call('ZRANGEBYSCORE', KEYS[5], now - IDLE_MS, '+inf', 'WITHSCORES', 'LIMIT', 0, WAITING)
for at = 1, #listed, 2 do
  local process, session, verdicts = string.match(listed[at], '^(%S+) (%S+) (.*)$')
  local nonce = redis.call('HGET', verdicts, lane) == '1' and redis.call('GET', KEYS[6] .. session)
  if nonce then
    redis.call('ZREM', KEYS[5], listed[at])
    if redis.call('PUBSUB', 'NUMSUB', KEYS[7] .. process)[2] > 0 then
      return { process, session, nonce, listed[at], listed[at + 1] }
    end
  end
end
return false
