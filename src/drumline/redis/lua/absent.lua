-- absent: tell which hints are not here, and put the lanes looked at into the right index.
--
-- KEYS  1 due   2 waiting   3 more   4 skew   5 lane prefix
-- ARGV  1 now in ms, or '' for this server's clock   2… for each lane: lane, number of hints, and that many tasks
-- GIVES the tasks that are not in their lane
local keys = { due = KEYS[1], waiting = KEYS[2], more = KEYS[3], lane = KEYS[5] }
local now = time_of(ARGV[1], redis.call('GET', KEYS[4]))

local absent, place = {}, 2
while ARGV[place] do
  local lane, count = ARGV[place], tonumber(ARGV[place + 1])
  local first, last = place + 2, place + 1 + count
  for start = first, last, ARGUMENTS do
    local scores = redis.call('ZMSCORE', keys.lane .. lane, unpack(ARGV, start, math.min(start + ARGUMENTS - 1, last)))
    for at = 1, #scores do
      if not scores[at] then
        absent[#absent + 1] = ARGV[start + at - 1]
      end
    end
  end
  index(keys, lane, now)
  place = last + 1
end
return absent
