-- Takes a lock that nobody holds, or whose holder has gone. A value that does not count here is not made to count.
WITH locked AS (
  INSERT INTO {schema}.credentials AS old (name, holder, held)
  SELECT $1::text, $2::text, clock_timestamp() + make_interval(secs => $3)
  ON CONFLICT (name) DO UPDATE SET (value, holder, held, origin)
    = (CASE WHEN old.origin = (SELECT {here}) || old.xmin::text THEN old.value END, excluded.holder, excluded.held, DEFAULT)
    WHERE old.held < clock_timestamp()
  RETURNING name
)
SELECT EXISTS (SELECT FROM locked)
