-- restore: put back what the store has and the queue has not.
--
-- KEYS  1 due   2 waiting   3 more   4 skew   5 lane prefix
-- ARGV  1 now in ms, or '' for this server's clock   2 most hints in a lane
--       3… for each lane: lane, bound, number of hints, and that many times due time in ms, task
--       bound is ''     nothing is said about the rest of the lane
--                a time all tasks of the lane that are due up to then are here, and the store has more
--                'all'  all tasks of the lane are here, as far as the store knew when it was asked
-- GIVES 1
--
-- A lane that had more is told to have all in two steps. A task may have come after the store was asked and before
-- this runs, and push left it out because of the cut; so the first 'all' lifts the cut, and only one that was found
-- after that ends the matter.
local keys = { due = KEYS[1], waiting = KEYS[2], more = KEYS[3], lane = KEYS[5] }
local now, most = time_of(ARGV[1], redis.call('GET', KEYS[4])), tonumber(ARGV[2])

local place = 3
while ARGV[place] do
  local lane, bound, count = ARGV[place], ARGV[place + 1], tonumber(ARGV[place + 2])
  local was_cut = add(keys, lane, place + 3, count, most)
  local cut = redis.call('ZSCORE', keys.more, lane)
  if was_cut then
    bound = ''
  end
  if bound == 'all' and cut then
    if tonumber(cut) >= NEVER then
      redis.call('ZREM', keys.more, lane)
    else
      redis.call('ZADD', keys.more, NEVER, lane)
    end
  elseif tonumber(bound) then
    redis.call('ZADD', keys.more, bound, lane)
  end
  index(keys, lane, now)
  place = place + 3 + count * 2
end
return 1
