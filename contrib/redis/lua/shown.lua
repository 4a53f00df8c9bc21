local all = {}
for i = 1, #KEYS, 2 do
  local what, _, left = state(KEYS[i], KEYS[i + 1])
  all[#all + 1] = what
  all[#all + 1] = left and redis.call('HGET', KEYS[i], 'q') or ''
  all[#all + 1] = left or 0
end
return all
