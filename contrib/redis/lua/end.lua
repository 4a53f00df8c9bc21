-- Ends a write. KEYS: as for begin, and then the tokens of what the write has returned. ARGV: the write's ID, the rest of
-- a new token, milliseconds that a token lasts, how many of KEYS are of the first kind.
-- Returns a ticket if no other write began or ended since this one began: each changes the
-- first token. While one is in flight, its token in the ticket is not alive.
local now, run = millis(), run()
local alone = redis.call('GET', KEYS[1]) == '!' .. run .. ARGV[1]
for i = 1, ARGV[4], 2 do
  redis.call('ZREM', KEYS[i + 1], ARGV[1])
  if redis.call('ZREMRANGEBYSCORE', KEYS[i + 1], '-inf', now) > 0 then alone = false end
  local top = redis.call('ZREVRANGE', KEYS[i + 1], 0, 0, 'WITHSCORES')
  if top[2] then
    redis.call('SET', KEYS[i], '!' .. run .. ARGV[2], 'PX', math.max(1, math.floor(tonumber(top[2]) - now)))
  else
    redis.call('SET', KEYS[i], run .. ARGV[2], 'PX', ARGV[3])
  end
end
local tokens = redis.call('MGET', unpack(KEYS, ARGV[4] + 1))
return alone and tokens[1] and '1' .. table.concat(tokens, ',') or ''
