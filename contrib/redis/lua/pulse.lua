-- A heartbeat: returns which run of Redis has taken it.
return run()
