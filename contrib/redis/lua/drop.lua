-- Ends a flight, if it is still led with this ticket. KEYS: the flight. ARGV: the ticket.
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
