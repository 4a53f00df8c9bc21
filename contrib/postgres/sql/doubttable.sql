-- place is a hash of scope, server and tool, which may be longer than an index takes.
CREATE TABLE {schema}.doubt (
  place  text NOT NULL,
  key    text COLLATE "C" NOT NULL,
  scope  text NOT NULL,
  server text NOT NULL,
  tool   text NOT NULL,
  at     timestamptz NOT NULL,
  until  timestamptz NOT NULL,
  told   boolean NOT NULL,
  form   text NOT NULL,
  PRIMARY KEY (place, key)
);
CREATE INDEX ON {schema}.doubt (until);
