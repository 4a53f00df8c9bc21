-- A remembered approval that answers is counted, and locked, in the same transaction.
WITH used AS (
  UPDATE {schema}.standing SET uses = uses + 1, origin = DEFAULT
  WHERE scope = $3::text AND id = $6::text AND clock_timestamp() < until AND {valid}
  RETURNING id
), added AS (
  INSERT INTO {schema}.approvals (id, state, scope, server, tool, standing, until)
  SELECT $1::text, $2::text, $3, $4::text, $5::text, $6, clock_timestamp() + make_interval(secs => $7)
  WHERE $6 = '' OR EXISTS (SELECT FROM used)
  RETURNING id
)
INSERT INTO {schema}.history (id, step, effect, by, scope, server, tool, details)
SELECT $1, $2, EXISTS (SELECT FROM added), $8::text, $3, $4, $5, $9::json
RETURNING effect
