-- pop: take the best due hints that a session can run. Whoever takes a hint is the only one who has it.
--
-- With several tenants each is given its part by where it stands (core/fair_shares.py), and what one cannot use goes to the
-- others; a tenant's own hints come by score.
--
-- KEYS  1 generation   2 skew   3 due   4 waiting   5 more   6 paused   7 lane prefix
--       8 ability   hash  what such a session can run: known -> 1, tenant -> its tenant or '', queues -> all or some,
--                         q:<queue> -> 1, n:<name> -> 1
--       9 verdicts  hash  lane -> 1 or 0: whether such a session can run it, remembered from earlier pops
--       10 idle   11 the name of the claim with which the session waits
-- ARGV  1 now in ms, or '' for this server's clock   2 how many are wanted
--       3 how long an ability is kept, in ms   4 the session's tenant, or '' if it serves everybody
--       5 as what to note the session if there is nothing for it, or '' if it will not wait
--       6 the nonce of its claim, if a task may be leased to it, or ''
--       7 how many tenants are told about, then for each: tenant, level, step
--       … only if the ability has to be written first: field, value, field, value …
-- GIVES { 'unfilled' }  the queue was emptied and not refilled yet: the store should choose
--       { 'unknown' }   the ability is not known here: pop again with it
--       { 'asked', 1 if the store has better ones that are not here, ms until the next is due or -1, task, task … }
local keys = { due = KEYS[3], waiting = KEYS[4], more = KEYS[5], lane = KEYS[7] }
local ability, verdicts, lifetime = KEYS[8], KEYS[9], ARGV[3]
local PROMOTED, LOOKED_AT, TENANTS = 64, 256, 64 -- lanes and tenants in one call
local STEP = 1000000 -- what a task raises a tenant by of whom nothing is said
local generation, skew = unpack(redis.call('MGET', KEYS[1], KEYS[2]))
if not generation then
  return { 'unfilled' }
end
local now, limit = time_of(ARGV[1], skew), tonumber(ARGV[2])
local definition = 8 + 3 * tonumber(ARGV[7])
if ARGV[definition] then
  redis.call('DEL', ability, verdicts)
  for first = definition, #ARGV, ARGUMENTS do
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

local answer, taken, asks_store, touched = { 'asked', 0, -1 }, 0, false, {}

-- Put a lane that was begun among the others, best last.
local function insert(open, entry)
  local at = #open
  while at > 0 and open[at].score < entry.score do
    open[at + 1] = open[at]
    at = at - 1
  end
  open[at + 1] = entry
end

-- Begin a tenant: `open` has its lanes that were begun, `coming` is the best of those that were not.
local function begin(tenant)
  local they = { open = {}, next_lane = walk(keys.due .. ':' .. tenant, math.huge) }
  they.coming, they.coming_score = they.next_lane()
  return they
end

-- Take up to `wanted` of a tenant's hints, its lanes merged by score; tell how many there were.
local function take(they, wanted)
  local open, begun_with = they.open, taken
  local limit = taken + wanted
  while taken < limit do
    local best, coming = open[#open], they.coming
    if coming and (not best or they.coming_score < best.score) then
      insert(open, { lane = coming, score = they.coming_score, worth = priority_of(coming) * POINT_MS })
      they.coming, they.coming_score = they.next_lane()
    elseif not best then
      break
    else
      open[#open] = nil
      local rival = math.min(open[#open] and open[#open].score or math.huge, coming and they.coming_score or math.huge)
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
        insert(open, best)
      end
    end
  end
  return taken - begun_with
end

-- Share `limit` out: each to the one who stands lowest, as if all had enough.
local function share(sharers, wanted)
  for _ = 1, wanted do
    local lowest = sharers[1]
    for at = 2, #sharers do
      if sharers[at].level < lowest.level then
        lowest = sharers[at]
      end
    end
    lowest.level, lowest.part = lowest.level + lowest.step, lowest.part + 1
  end
end

-- Take from each tenant its part, and share what is left out again among those who still have some.
local function take_shared(tenants)
  local standing, sharers = {}, {}
  for at = 8, definition - 1, 3 do
    standing[ARGV[at]] = { level = tonumber(ARGV[at + 1]), step = tonumber(ARGV[at + 2]) }
  end
  for _, tenant in ipairs(tenants) do
    local known = standing[tenant] or { level = 0, step = STEP }
    sharers[#sharers + 1] = { tenant = tenant, level = known.level, step = known.step, part = 0 }
  end
  local served = redis.call('ZRANGE', keys.due, -1, -1, 'WITHSCORES')[2]
  while taken < limit and #sharers > 0 and not asks_store do
    share(sharers, limit - taken)
    local rest = {}
    for _, sharer in ipairs(sharers) do
      sharer.they = sharer.they or begin(sharer.tenant)
      local found = sharer.part > 0 and not asks_store and take(sharer.they, sharer.part) or 0
      if found > 0 or #tenants == TENANTS then -- else those who have nothing for this session would stand in the way
        redis.call('ZADD', keys.due, 'XX', served + 1, sharer.tenant)
      end
      if found == sharer.part then
        rest[#rest + 1] = sharer
      end
      sharer.part = 0
    end
    sharers = rest
  end
end

local tenants = ARGV[4] ~= '' and { ARGV[4] } or redis.call('ZRANGE', keys.due, 0, TENANTS - 1)
if #tenants == 1 then
  take(begin(tenants[1]), limit)
elseif #tenants > 1 then
  take_shared(tenants)
end
for lane, head in pairs(touched) do
  if head <= now then
    make_due(keys, lane, head)
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
if ARGV[5] ~= '' then
  if taken == 0 and not asks_store then
    redis.call('ZADD', KEYS[10], now, ARGV[5])
    if ARGV[6] ~= '' then
      redis.call('SET', KEYS[11], ARGV[6], 'PX', IDLE_MS)
    end
    redis.call('ZREMRANGEBYSCORE', KEYS[10], '-inf', now - IDLE_MS)
    redis.call('PEXPIRE', KEYS[10], lifetime)
  else
    redis.call('ZREM', KEYS[10], ARGV[5])
  end
end
answer[2] = asks_store and 1 or 0
return answer
