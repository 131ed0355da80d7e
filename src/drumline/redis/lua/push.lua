-- push: offer tasks, and wake those who wait for them.
--
-- A lone task in an empty lane is handed to the session that has waited longest, if one can run it: it is spared the pop,
-- and the others stay asleep.
--
-- KEYS  1 due   2 waiting   3 more   4 skew   5 lane prefix   6 wake (channel)   7 paused   8 idle
-- ARGV  1 now in ms, or '' for this server's clock   2 most hints in a lane   3 wake-up to publish, or ''
--       4 1 if there is a single hint, and the store has found it due
--       5… for each lane: lane, number of hints, and that many times due time in ms, task
-- GIVES 1 if the task was handed over, else 0
--
-- A lane that has more in the store takes only hints up to its cut: what is here is then the earliest of what the
-- store has, and a newcomer never overtakes what was left out.
local keys = { due = KEYS[1], waiting = KEYS[2], more = KEYS[3], lane = KEYS[5] }
local now, most, message = time_of(ARGV[1], redis.call('GET', KEYS[4])), tonumber(ARGV[2]), ARGV[3]

-- Hand a task to a session that waits; tell whether one was there to take it.
local function hand_over(lane, due_at, task)
  if redis.call('SISMEMBER', KEYS[7], string.match(lane, '^%S+ %S+')) == 1 then
    return false
  end
  for _, idle in ipairs(redis.call('ZRANGEBYSCORE', KEYS[8], now - IDLE_MS, '+inf', 'LIMIT', 0, WAITING)) do
    local process, session, verdicts = string.match(idle, '^(%S+) (%S+) (.*)$')
    if redis.call('HGET', verdicts, lane) == '1' then
      redis.call('ZREM', KEYS[8], idle)
      local words = table.concat({ session, due_at, task, lane }, ' ')
      if redis.call('PUBLISH', KEYS[6] .. ':' .. process, words) > 0 then
        return true
      end
    end
  end
  return false
end

if message ~= '' and #ARGV == 8 and (ARGV[4] == '1' or tonumber(ARGV[7]) <= now) then
  local lane = ARGV[5]
  local is_empty = redis.call('EXISTS', keys.lane .. lane) == 0 and not redis.call('ZSCORE', keys.more, lane)
  if is_empty and hand_over(lane, ARGV[7], ARGV[8]) then
    return 1
  end
end

local place = 5
while ARGV[place] do
  local lane, count = ARGV[place], tonumber(ARGV[place + 1])
  local first = place + 2
  local head = tonumber(redis.call('ZRANGE', keys.lane .. lane, 0, 0, 'WITHSCORES')[2]) or math.huge
  local cut = tonumber(redis.call('ZSCORE', keys.more, lane) or math.huge)
  local earliest, latest = math.huge, 0
  for at = first, first + count * 2 - 1, 2 do
    local due_at = tonumber(ARGV[at])
    earliest, latest = math.min(earliest, due_at), math.max(latest, due_at)
  end
  if latest <= cut then
    add(keys, lane, first, count, most)
  else
    for at = first, first + count * 2 - 1, 2 do
      if tonumber(ARGV[at]) <= cut then
        add(keys, lane, at, 1, most)
      end
    end
  end
  if earliest <= head then -- else the head is what it was
    index(keys, lane, now)
  end
  place = first + count * 2
end
if message ~= '' then
  redis.call('PUBLISH', KEYS[6], message)
end
return 0
