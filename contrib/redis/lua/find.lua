-- Returns remembered approvals: of each its ID, the sealed approval, and how often it was used. KEYS: those of the scope, and
-- lists of IDs.
local all = {}
for i = 2, #KEYS do
  for _, id in ipairs(redis.call('SMEMBERS', KEYS[i])) do
    local got = redis.call('HMGET', KEYS[1], id, '#' .. id)
    if got[1] then
      all[#all + 1] = id
      all[#all + 1] = got[1]
      all[#all + 1] = got[2] or ''
    else
      redis.call('SREM', KEYS[i], id)
    end
  end
end
return all
