-- What several scripts use; it stands before each of them.

-- millis is the time by Redis' clock.
local function millis()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- runid is the id that Redis has since its start.
local known
local function runid()
  known = known or string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  return known
end

-- run is as much of it as stands in tokens.
local function run()
  return string.sub(runid(), 1, 16)
end

-- stands reports whether a remembered approval is there, of this run.
local function stands(key, id)
  local entry = redis.call('HGET', key, id)
  return entry and string.sub(entry, 1, 16) == run()
end

-- state is what a question of the board is: unknown, over, done, left, or open for so long.
local function state(key, alive)
  local q = redis.call('HMGET', key, 'v', 'until', 'run', 'over', 'a')
  if q[1] ~= '1' or q[3] ~= runid() then return 'unknown' end
  if q[5] then return 'done', q[5] end
  local left = (tonumber(q[2]) or 0) - millis()
  if q[4] or left <= 0 then return 'over' end
  if redis.call('EXISTS', alive) == 0 then return 'left', nil, left end
  return 'open', nil, left
end

