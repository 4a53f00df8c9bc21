-- A row without a value is a lock. What a restore or a copy has written does not count, as for approvals.
CREATE TABLE {schema}.credentials (
  name   text COLLATE "C" PRIMARY KEY,
  value  bytea,
  holder text NOT NULL,
  held   timestamptz NOT NULL,
  origin text NOT NULL DEFAULT {here} || pg_current_xact_id()::xid::text
);
