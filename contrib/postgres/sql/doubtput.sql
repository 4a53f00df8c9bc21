-- The oldest entries of the same place go if there are too many.
WITH dropped AS (
  DELETE FROM {schema}.doubt WHERE place = $1::text AND key IN (
    SELECT key FROM {schema}.doubt WHERE place = $1 AND key <> $2::text ORDER BY at DESC OFFSET $10::int - 1)
)
INSERT INTO {schema}.doubt AS old (place, key, scope, server, tool, at, until, told, form)
SELECT $1, $2, $3::text, $4::text, $5::text, $6::timestamptz, clock_timestamp() + make_interval(secs => $7), $8::boolean, $9::text
ON CONFLICT (place, key) DO UPDATE SET (at, until, told, form) = (excluded.at, excluded.until, old.told OR excluded.told, excluded.form)
RETURNING true
