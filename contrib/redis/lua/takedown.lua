-- Ends a question that has no answer. KEYS: the question, its mark of attendance, the open questions. ARGV: ID.
local what = state(KEYS[1], KEYS[2])
if what == 'open' or what == 'left' then redis.call('HSET', KEYS[1], 'over', '1') end
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
