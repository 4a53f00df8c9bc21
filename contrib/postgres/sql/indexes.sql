-- So that no call reads what is remembered for other calls, and no sweep all of it. Names may be longer than an index
-- takes, so it has hashes of them.
CREATE INDEX standing_of_tool ON {schema}.standing (({of tool}));
CREATE INDEX standing_of_call ON {schema}.standing (({of call}));
CREATE INDEX standing_until ON {schema}.standing (until);
