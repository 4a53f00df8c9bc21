-- Takes a token of each bucket, or of none. KEYS: for each bucket its tokens, its queue, and when each waiter last asked.
-- ARGV: the waiter's ID, microseconds that it may wait, how many may wait, microseconds after which a silent waiter is
-- dropped, microseconds for which a bucket is closed after a return of Redis, microseconds since that return, and for
-- each bucket its tokens per microsecond and its burst.
-- Returns 0 for a token, the microseconds to wait before the next request, more than may be waited for a refusal, and -1
-- while a bucket is closed.
--
-- The queue has each waiter's place. Whoever has n others before it needs n + 1 tokens to pass.
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local id, longest, most, lease, shut = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local ago = tonumber(ARGV[6]) -- since Redis was back, -1 for long ago
local n = #KEYS / 3
local rate, burst, have = {}, {}, {}

local function left()
  for i = 1, n do
    redis.call('ZREM', KEYS[3 * i - 1], id)
    redis.call('ZREM', KEYS[3 * i], id)
  end
end

local function write(i, tokens, at)
  local life = math.min(9e12, math.ceil(((burst[i] - tokens) / rate[i] + at - now) / 1000) + 1000)
  redis.call('SET', KEYS[3 * i - 2], string.format('1 %.17g %.0f', tokens, at), 'PX', life)
end

for i = 1, n do
  rate[i], burst[i] = tonumber(ARGV[5 + 2 * i]), tonumber(ARGV[6 + 2 * i])
  if ago >= 0 then
    local opens, at = now - ago + shut, tonumber(string.match(redis.call('GET', KEYS[3 * i - 2]) or '', '^1 %S+ (%d+)$')) or 0
    if at < opens or at > now + shut then -- not used since the return
      write(i, 0, opens)
      redis.call('DEL', KEYS[3 * i - 1], KEYS[3 * i])
    end
  end
end
for i = 1, n do
  have[i] = burst[i]
  local s = redis.call('GET', KEYS[3 * i - 2])
  if s then
    local tokens, at = string.match(s, '^1 (%S+) (%d+)$')
    tokens, at = tonumber(tokens) or 0, tonumber(at) or 0
    if at > now and at <= now + shut then
      left()
      return -1
    end
    if at > 0 and at <= now then
      have[i] = math.min(burst[i], tokens + (now - at) * rate[i])
    else -- rubbish, or the clock was set back
      have[i] = math.min(burst[i], tokens)
      write(i, have[i], now)
    end
  end
  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3 * i], '-inf', now - lease, 'LIMIT', 0, 100)) do
    if gone ~= id then
      redis.call('ZREM', KEYS[3 * i - 1], gone)
      redis.call('ZREM', KEYS[3 * i], gone)
    end
  end
  local place = redis.call('ZRANK', KEYS[3 * i - 1], id)
  local count = redis.call('ZCARD', KEYS[3 * i - 1])
  local ahead = place or count
  local wait = 0
  if ahead + 1 > have[i] then
    wait = math.min(9e15, math.ceil((ahead + 1 - have[i]) / rate[i]))
  elseif ahead > 0 then
    wait = 1000
  end
  if wait > 0 then
    if wait > longest or (not place and count >= most) then
      left()
      return math.max(wait, longest + 1)
    end
    for j = 1, i do
      if not redis.call('ZRANK', KEYS[3 * j - 1], id) then
        local last = redis.call('ZREVRANGE', KEYS[3 * j - 1], 0, 0, 'WITHSCORES')
        redis.call('ZADD', KEYS[3 * j - 1], (tonumber(last[2]) or 0) + 1, id)
      end
      redis.call('ZADD', KEYS[3 * j], now, id)
      redis.call('PEXPIRE', KEYS[3 * j - 1], math.ceil(lease / 500))
      redis.call('PEXPIRE', KEYS[3 * j], math.ceil(lease / 500))
    end
    return wait
  end
end
for i = 1, n do write(i, have[i] - 1, now) end
left()
return 0
