-- Names are compared byte by byte, whatever the locale is. The defaults name the transaction that writes the row.
CREATE TABLE {schema}.approvals (
  id       text COLLATE "C" PRIMARY KEY,
  state    text NOT NULL,
  scope    text COLLATE "C" NOT NULL,
  server   text NOT NULL,
  tool     text NOT NULL,
  standing text COLLATE "C" NOT NULL,
  until    timestamptz NOT NULL,
  origin   text NOT NULL DEFAULT {here} || pg_current_xact_id()::xid::text
);
CREATE INDEX ON {schema}.approvals (until);
CREATE TABLE {schema}.standing (
  scope  text COLLATE "C" NOT NULL,
  id     text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  tool   text COLLATE "C" NOT NULL,
  until  timestamptz NOT NULL,
  uses   integer NOT NULL,
  form   json NOT NULL,
  origin text NOT NULL DEFAULT {here} || pg_current_xact_id()::xid::text,
  PRIMARY KEY (scope, id)
);
CREATE TABLE {schema}.history (
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  id      text NOT NULL,
  step    text NOT NULL,
  effect  boolean NOT NULL,
  by      text NOT NULL DEFAULT '',
  scope   text NOT NULL,
  server  text NOT NULL,
  tool    text NOT NULL,
  details json
);
CREATE INDEX ON {schema}.history (at);
CREATE INDEX ON {schema}.history (id);
