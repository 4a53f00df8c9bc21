-- Puts a new head before the log of revocations. KEYS: the head, the log. ARGV: the head that is there, or '' for none; the
-- new one; how many of the oldest revocations to drop, -1 for all; and those to add.
-- Returns 0 if the head is another one. A log that is none gets none: it is then not the one of its head.
if (redis.call('MGET', KEYS[1])[1] or '') ~= ARGV[1] then return 0 end
local drop = tonumber(ARGV[3])
if drop < 0 then redis.call('DEL', KEYS[2]) end
for i = 4, #ARGV do redis.pcall('RPUSH', KEYS[2], ARGV[i]) end
if drop > 0 then redis.pcall('LTRIM', KEYS[2], drop, -1) end
redis.call('SET', KEYS[1], ARGV[2])
return 1
