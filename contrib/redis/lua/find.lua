-- Returns the remembered approvals of a tool: of each its ID, the sealed approval, and how often it was used. KEYS: those
-- of the scope, the IDs of those of the tool.
local all = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local got = redis.call('HMGET', KEYS[1], id, '#' .. id)
  if got[1] then
    all[#all + 1] = id
    all[#all + 1] = got[1]
    all[#all + 1] = got[2] or ''
  else
    redis.call('SREM', KEYS[2], id)
  end
end
return all
