WITH gone AS (
  DELETE FROM {schema}.credentials WHERE name = $1::text AND holder = $2::text AND value IS NULL RETURNING name
), ended AS (
  UPDATE {schema}.credentials SET held = '-infinity', origin = DEFAULT
  WHERE name = $1 AND holder = $2 AND value IS NOT NULL RETURNING name
)
SELECT EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM ended)
