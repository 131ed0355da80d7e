-- drop: forget hints, whatever lane they are in.
--
-- KEYS  1 due   2 waiting   3 more   4 skew   5 lane prefix
-- ARGV  1 now in ms, or '' for this server's clock   2… tasks
-- GIVES how many were forgotten
local keys = { due = KEYS[1], waiting = KEYS[2], more = KEYS[3], lane = KEYS[5] }
local now = time_of(ARGV[1], redis.call('GET', KEYS[4]))

local forgotten, indexes = 0, { keys.waiting }
for _, tenant in ipairs(redis.call('ZRANGE', keys.due, 0, -1)) do
  indexes[#indexes + 1] = keys.due .. ':' .. tenant
end
for _, zset in ipairs(indexes) do
  for _, lane in ipairs(redis.call('ZRANGE', zset, 0, -1)) do
    local found = 0
    for first = 2, #ARGV, ARGUMENTS do
      local last = math.min(first + ARGUMENTS - 1, #ARGV)
      found = found + redis.call('ZREM', keys.lane .. lane, unpack(ARGV, first, last))
    end
    if found > 0 then
      forgotten = forgotten + found
      index(keys, lane, now)
    end
  end
end
return forgotten
