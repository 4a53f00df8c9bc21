WITH marked AS (
  UPDATE {schema}.doubt SET told = true WHERE place = $1::text AND key = $2::text AND NOT told RETURNING key
)
SELECT EXISTS (SELECT FROM marked)
