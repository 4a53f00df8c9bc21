-- Puts a question on the board. KEYS: the question, its mark of attendance, the open questions. ARGV: ID, sealed
-- question, milliseconds that it lasts, that it is kept after that, and that the mark of attendance lasts.
-- Returns 0 if the ID is known.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local now = millis()
redis.call('HSET', KEYS[1], 'v', '1', 'q', ARGV[2], 'until', string.format('%.0f', now + ARGV[3]), 'run', runid())
redis.call('PEXPIRE', KEYS[1], math.max(0, tonumber(ARGV[3])) + ARGV[4])
redis.call('SET', KEYS[2], '1', 'PX', ARGV[5])
redis.call('ZADD', KEYS[3], now, ARGV[1])
return 1
