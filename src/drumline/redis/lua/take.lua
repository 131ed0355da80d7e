-- take: give a key up to `wanted` lots of turns, of which a window of time may have `most`.
--
-- KEYS  1 given  list  the times at which lots were given, in ms, oldest first
-- ARGV  1 window in ms   2 most   3 wanted
-- GIVES { lots given, lots still free, ms until the next one is }
local given, window, most, wanted = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local oldest = tonumber(redis.call('LINDEX', given, 0))
while oldest and oldest <= now - window do
  redis.call('LPOP', given)
  oldest = tonumber(redis.call('LINDEX', given, 0))
end
local free = most - redis.call('LLEN', given)
local lots = math.max(math.min(wanted, free), 0)
for _ = 1, lots do
  redis.call('RPUSH', given, now)
end
if lots > 0 then
  redis.call('PEXPIRE', given, window)
  oldest = oldest or now
end
return { lots, math.max(free - lots, 0), oldest and math.max(oldest + window - now, 0) or 0 }
