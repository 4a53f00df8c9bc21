-- Gives a question its answer. KEYS: the question, its mark of attendance, the open questions. ARGV: ID, sealed answer.
-- Returns the state that the question was in; only one that was open takes the answer.
local what = state(KEYS[1], KEYS[2])
if what == 'open' then
  redis.call('HSET', KEYS[1], 'a', ARGV[2])
  redis.call('ZREM', KEYS[3], ARGV[1])
end
return what
