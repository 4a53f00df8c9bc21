-- Takes a step of an approval. KEYS: as for add. ARGV: the state to take, milliseconds that an approval lasts,
-- milliseconds that it is kept after that, the remembered approval's ID or '', and perhaps the only state to leave.
-- Returns 'taken', followed by the remembered approval that was used, or the state that the approval stays in ('' for none).
-- What stands in a yes of before a restart may have been used since.
local steps = {
  pending = {approved = 1, denied = 1, void = 1},
  approved = {spent = 1, void = 1},
  spent = {done = 1, void = 1},
}
local a = redis.call('HMGET', KEYS[1], 'v', 'state', 'until', 'run')
if a[1] ~= '1' or a[4] ~= runid() then return '' end
local to = ARGV[1]
if ARGV[5] and a[2] ~= ARGV[5] then return a[2] end
if not (steps[a[2]] and steps[a[2]][to]) then return a[2] end
local now = millis()
if (to == 'approved' or to == 'spent') and not (now < (tonumber(a[3]) or 0)) then return a[2] end
if to == 'spent' and ARGV[4] ~= '' and not stands(KEYS[2], ARGV[4]) then return 'void' end
redis.call('HSET', KEYS[1], 'state', to)
if to == 'approved' then
  redis.call('HSET', KEYS[1], 'until', string.format('%.0f', now + ARGV[2]))
  redis.call('PEXPIRE', KEYS[1], math.max(0, tonumber(ARGV[2])) + ARGV[3])
end
return 'taken' .. (to == 'spent' and ARGV[4] ~= '' and redis.call('HGET', KEYS[2], ARGV[4]) or '')
