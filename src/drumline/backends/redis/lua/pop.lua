-- pop: take the best due hints that a session can run. Whoever takes a hint is the only one who has it.
--
-- KEYS  1 generation   2 skew   3 due   4 waiting   5 more   6 paused   7 lane prefix
--       8 ability   hash  what such a session can run: known -> 1, tenant -> its tenant or '', queues -> all or some,
--                         q:<queue> -> 1, n:<name> -> 1
--       9 verdicts  hash  lane -> 1 or 0: whether such a session can run it, remembered from earlier pops
-- ARGV  1 now in ms, or '' for this server's clock   2 how many are wanted
--       3 how long an ability is kept, in ms   4… only if it has to be written first: field, value, field, value …
-- GIVES { 'unfilled' }  the queue was emptied and not refilled yet: the store should choose
--       { 'unknown' }   the ability is not known here: pop again with it
--       { 'asked', 1 if the store has better ones that are not here, ms until the next is due or -1, task, task … }
local keys = { due = KEYS[3], waiting = KEYS[4], more = KEYS[5], lane = KEYS[7] }
local ability, verdicts, lifetime = KEYS[8], KEYS[9], ARGV[3]
local PROMOTED, LOOKED_AT = 64, 256 -- lanes in one call
local generation, skew = unpack(redis.call('MGET', KEYS[1], KEYS[2]))
if not generation then
  return { 'unfilled' }
end
local now, limit = time_of(ARGV[1], skew), tonumber(ARGV[2])
if ARGV[4] then
  redis.call('DEL', ability, verdicts)
  for first = 4, #ARGV, ARGUMENTS do
    redis.call('HSET', ability, unpack(ARGV, first, math.min(first + ARGUMENTS - 1, #ARGV)))
  end
  redis.call('PEXPIRE', ability, lifetime)
end
local paused = {}
for _, queue in ipairs(redis.call('SMEMBERS', KEYS[6])) do
  paused[queue] = true
end
local is_paused = next(paused) ~= nil

-- Decide whether such a session can run a lane, and remember it; nil if the ability is not known here.
local function judge(lane)
  local tenant, queue, name = string.match(lane, '^(%S+) (%S+) %S+ (.*)$')
  local able = redis.call('HMGET', ability, 'known', 'tenant', 'queues', 'q:' .. queue, 'n:' .. name)
  if not able[1] then
    return nil
  end
  local can = able[5] and (able[2] == '' or able[2] == tenant) and (able[3] == 'all' or able[4])
  local verdict = can and '1' or '0'
  redis.call('HSET', verdicts, lane, verdict)
  redis.call('PEXPIRE', verdicts, lifetime)
  return verdict
end

-- Return a page of an index, only the lanes that may be handed out, and their scores; nil at its end.
local is_known = true
local function page_of(zset, start, size)
  local page = redis.call('ZRANGE', zset, start, start + size - 1)
  if #page == 0 then
    return nil
  end
  local remembered, found = redis.call('HMGET', verdicts, unpack(page)), {}
  for place, lane in ipairs(page) do
    local verdict = remembered[place] or judge(lane)
    if not verdict then
      is_known = false
      return nil
    elseif verdict == '1' and not (is_paused and paused[string.match(lane, '^%S+ %S+')]) then
      found[#found + 1] = lane
    end
  end
  return found, #found > 0 and redis.call('ZMSCORE', zset, unpack(found))
end

-- Walk an index from its best lane on: lane, score.
local function walk(zset, most)
  local page, scores, place, start, size = {}, {}, 0, 0, 8
  return function()
    place = place + 1
    while place > #page do
      if start >= most then
        return nil
      end
      page, scores = page_of(zset, start, size)
      if not page then
        page, most = {}, 0
        return nil
      end
      place, start, size = 1, start + size, math.min(size * 4, 128)
    end
    return page[place], tonumber(scores[place])
  end
end

for _, lane in ipairs(redis.call('ZRANGEBYSCORE', keys.waiting, '-inf', now, 'LIMIT', 0, PROMOTED)) do
  index(keys, lane, now)
end

-- Merge the lanes by score: `open` has those begun, best last; `coming` is the best of those not begun.
local answer, taken, asks_store, touched = { 'asked', 0, -1 }, 0, false, {}
local open = {}
local function insert(entry)
  local at = #open
  while at > 0 and open[at].score < entry.score do
    open[at + 1] = open[at]
    at = at - 1
  end
  open[at + 1] = entry
end

local next_lane = walk(keys.due, math.huge)
local coming, coming_score = next_lane()
while taken < limit do
  local best = open[#open]
  if coming and (not best or coming_score < best.score) then
    insert({ lane = coming, score = coming_score, worth = priority_of(coming) * POINT_MS })
    coming, coming_score = next_lane()
  elseif not best then
    break
  else
    open[#open] = nil
    local rival = math.min(open[#open] and open[#open].score or math.huge, coming and coming_score or math.huge)
    local key, last = keys.lane .. best.lane, math.min(now, rival + best.worth)
    local run = redis.call('ZRANGEBYSCORE', key, '-inf', last, 'LIMIT', 0, limit - taken)
    for at = 1, #run do
      answer[taken + at + 3] = run[at]
    end
    taken = taken + #run
    if #run > 0 then
      redis.call('ZREMRANGEBYRANK', key, 0, #run - 1)
    end
    local head = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    local cut = not head and redis.call('ZSCORE', keys.more, best.lane)
    if cut and #run == 0 then
      asks_store = true
      break
    end
    head = cut and placeholder(cut, now) or head
    touched[best.lane] = head or math.huge
    if head and head <= now then
      best.score = head - best.worth
      insert(best)
    end
  end
end
for lane, head in pairs(touched) do
  if head <= now then
    redis.call('ZADD', keys.due, head - priority_of(lane) * POINT_MS, lane)
  else
    index(keys, lane, now)
  end
end
if taken == 0 and not asks_store then
  local _, head = walk(keys.waiting, LOOKED_AT)()
  answer[3] = head and math.max(head - now, 0) or -1
end
if not is_known then
  return { 'unknown' }
end
answer[2] = asks_store and 1 or 0
return answer
