-- sync: take over the store's time and pauses, and tell where the queue stands.
--
-- KEYS  1 generation   2 skew   3 more   4 paused
-- ARGV  1 the store's time in ms   2 how long a correction of the clock is kept, in ms   3… if the pauses are known: 'paused', then
--       "tenant queue" for each paused queue
-- GIVES { generation or '', lane that has more in the store, … }
--
-- The store told its time before this ran, so its clock is ahead of this server's by at least the difference. Of all
-- such bounds the highest is the best; after a while it is forgotten, for clocks drift.
local generation, skew = unpack(redis.call('MGET', KEYS[1], KEYS[2]))
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ahead = tonumber(ARGV[1]) - now
local kept, since = string.match(skew or '', '^(%S+) (%S+)$')
if not kept or ahead > tonumber(kept) or now - tonumber(since) > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], string.format('%.0f %.0f', ahead, now))
end

if ARGV[3] then
  redis.call('DEL', KEYS[4])
end
if ARGV[4] then
  redis.call('SADD', KEYS[4], unpack(ARGV, 4))
end

local answer = { generation or '' }
for _, lane in ipairs(redis.call('ZRANGE', KEYS[3], 0, 63)) do
  answer[#answer + 1] = lane
end
return answer
