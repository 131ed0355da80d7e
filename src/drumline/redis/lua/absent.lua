-- absent: tell which hints are not here in time, and put the lanes looked at into the right index.
--
-- A hint that stands here for a later time is as good as none: two pushes of one task came in the wrong order.
--
-- KEYS  1 due   2 waiting   3 more   4 skew   5 lane prefix
-- ARGV  1 now in ms, or '' for this server's clock   2… for each lane: lane, number of hints, that many tasks, and as
--       many due times in ms
-- GIVES the tasks that are not in their lane, or are there for a later time
local keys = { due = KEYS[1], waiting = KEYS[2], more = KEYS[3], lane = KEYS[5] }
local now = time_of(ARGV[1], redis.call('GET', KEYS[4]))

local absent, place = {}, 2
while ARGV[place] do
  local lane, count = ARGV[place], tonumber(ARGV[place + 1])
  local first, last = place + 2, place + 1 + count
  for start = first, last, ARGUMENTS do
    local scores = redis.call('ZMSCORE', keys.lane .. lane, unpack(ARGV, start, math.min(start + ARGUMENTS - 1, last)))
    for at = 1, #scores do
      if not scores[at] or tonumber(scores[at]) > tonumber(ARGV[start + count + at - 1]) then
        absent[#absent + 1] = ARGV[start + at - 1]
      end
    end
  end
  index(keys, lane, now)
  place = last + count + 1
end
return absent
