-- Returns the newest revocations after a 1, or 0 if the head is not the one that counts them. KEYS: the head, the log.
-- ARGV: the head, how many.
if redis.call('MGET', KEYS[1])[1] ~= ARGV[1] then return {0} end
local log = redis.pcall('LRANGE', KEYS[2], -tonumber(ARGV[2]), -1)
local all = {1}
if log.err then return all end
for _, revocation in ipairs(log) do all[#all + 1] = revocation end
return all
