-- Stores a value, if the tokens of all that it is about are those of its ticket, and ends its flight. KEYS: the value,
-- its flight, the tokens. ARGV: the sealed value, milliseconds that it lasts, the ticket.
local h = '1' .. table.concat(redis.call('MGET', unpack(KEYS, 3)), ',')
if h == ARGV[3] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
if redis.call('GET', KEYS[2]) == ARGV[3] then redis.call('DEL', KEYS[2]) end
return 1
