-- Only the holder of the lock changes the value. A null removes it.
WITH changed AS (
  UPDATE {schema}.credentials SET value = $3::bytea, origin = DEFAULT
  WHERE name = $1::text AND holder = $2::text AND held > clock_timestamp()
  RETURNING name
)
SELECT EXISTS (SELECT FROM changed)
