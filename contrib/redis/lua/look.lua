-- Looks for a value. KEYS: the value, its flight, the tokens of all that it is about. ARGV: the rest of a new token,
-- milliseconds that a flight lasts without a renewal, milliseconds that a token lasts.
-- Returns nothing while a write is in flight; else a ticket, which is made of the tokens, and with it the value if there
-- is one for these tokens, or 'busy' if another replica leads; with the ticket alone the caller leads.
local v = redis.call('MGET', unpack(KEYS))
local run = run()
local busy = false
for i = 3, #KEYS do
  local t = v[i]
  local open = t and string.sub(t, 1, 16) == run
  if t and string.sub(t, 1, 17) == '!' .. run then
    busy = true
  elseif not open then
    v[i] = run .. ARGV[1]
    redis.call('SET', KEYS[i], v[i], 'PX', ARGV[3])
  end
end
if busy then return {} end
local h = '1' .. table.concat(v, ',', 3)
if v[1] and string.sub(v[1], 1, #h + 1) == h .. '\n' then return {h, v[1]} end
if v[2] == h then return {h, '', 'busy'} end
redis.call('SET', KEYS[2], h, 'PX', ARGV[2])
return {h}
