-- What the scripts of the queue share; it stands in front of each of them.
--
-- A lane is written "tenant queue priority name". Its hints are the zset at <lane prefix><lane>, and its head is
-- kept in one of two indexes: `due:<tenant>` if it is due (by score), `waiting` if it is not (by due time); `due` has the
-- tenants that have such lanes, the one served longest ago first. A lane in `more`
-- has tasks that are not here, all due after its cut: when it has run dry its head is a placeholder at the cut, so
-- that whoever gets there asks the store.
local POINT_MS = 60000 -- what a point of priority is worth
local IDLE_MS = 65000 -- longer than a session waits before it asks again
local WAITING = 16 -- idle sessions that are looked at
local NEVER = 1e15 -- later than anything can be due
local ARGUMENTS = 4000 -- what one command is given at most; Lua's stack takes 8000

local function priority_of(lane)
  return tonumber(string.match(lane, '^%S+ %S+ (%S+) '))
end

-- The store's time as far as it is known here: as given, or this server's clock corrected by what the sweep saw.
local function time_of(given, skew)
  if given ~= '' then
    return tonumber(given)
  end
  local time = redis.call('TIME')
  local correction = skew and tonumber(string.match(skew, '^%S+')) or 0
  return time[1] * 1000 + math.floor(time[2] / 1000) + correction
end

-- Where the placeholder of a dry lane stands that has more in the store: at its cut, or here and now if that was lifted.
local function placeholder(cut, now)
  cut = tonumber(cut)
  return cut < NEVER and cut or now
end

local function tenant_of(lane)
  return string.match(lane, '^%S+')
end

-- Note a lane whose head is due. A tenant that had none joins in front: it was not served lately.
local function make_due(keys, lane, due_at)
  local tenant = tenant_of(lane)
  if redis.call('ZADD', keys.due .. ':' .. tenant, due_at - priority_of(lane) * POINT_MS, lane) == 1 then
    redis.call('ZADD', keys.due, 'NX', 0, tenant)
  end
end

-- Take back that a lane's head is due.
local function unmake_due(keys, lane)
  local tenant = tenant_of(lane)
  local theirs = keys.due .. ':' .. tenant
  if redis.call('ZREM', theirs, lane) == 1 and redis.call('EXISTS', theirs) == 0 then
    redis.call('ZREM', keys.due, tenant)
  end
end

-- Put a lane where its head belongs.
local function index(keys, lane, now)
  local due_at = tonumber(redis.call('ZRANGE', keys.lane .. lane, 0, 0, 'WITHSCORES')[2])
  if not due_at then
    local cut = redis.call('ZSCORE', keys.more, lane)
    if not cut then
      unmake_due(keys, lane)
      redis.call('ZREM', keys.waiting, lane)
      return
    end
    due_at = placeholder(cut, now)
  end
  if due_at <= now then
    make_due(keys, lane, due_at)
    redis.call('ZREM', keys.waiting, lane)
  else
    redis.call('ZADD', keys.waiting, due_at, lane)
    unmake_due(keys, lane)
  end
end

-- Put hints into a lane from ARGV[first] on (due time, task, due time, task …), but not more than `most` of them:
-- beyond that the earliest stay, and the lane is noted as having more. Tell whether that was so.
local function add(keys, lane, first, count, most)
  local key = keys.lane .. lane
  for start = first, first + count * 2 - 1, ARGUMENTS do
    redis.call('ZADD', key, unpack(ARGV, start, math.min(start + ARGUMENTS, first + count * 2) - 1))
  end
  if redis.call('ZCARD', key) > most then
    local cut = redis.call('ZRANGE', key, most - 1, most - 1, 'WITHSCORES')[2]
    redis.call('ZREMRANGEBYRANK', key, most, -1)
    redis.call('ZADD', keys.more, cut, lane)
    return true
  end
  return false
end
