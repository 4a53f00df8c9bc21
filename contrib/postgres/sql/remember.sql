WITH kept AS (
  INSERT INTO {schema}.standing AS old (scope, id, server, tool, until, uses, form)
  SELECT $1::text, $2::text, $3::text, $4::text, clock_timestamp() + make_interval(secs => $5), $6::int, $7::json
  WHERE (SELECT count(*) FROM {schema}.standing WHERE scope = $1 AND clock_timestamp() < until AND {valid}) < $8::int
  ON CONFLICT (scope, id) DO UPDATE SET (server, tool, until, uses, form, origin)
    = (excluded.server, excluded.tool, excluded.until, excluded.uses, excluded.form, DEFAULT)
  RETURNING id
)
INSERT INTO {schema}.history (id, step, effect, by, scope, server, tool, details)
SELECT $2, 'remembered', EXISTS (SELECT FROM kept), $9::text, $1, $3, $4, $10::json
RETURNING effect
