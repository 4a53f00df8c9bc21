WITH gone AS (
  DELETE FROM {schema}.doubt WHERE place = $1::text AND key = $2::text RETURNING key
)
SELECT EXISTS (SELECT FROM gone)
