-- What a row of approvals was, its change if the state, the time and the remembered approval allow it, and the record of both.
WITH was AS (
  SELECT id, state, scope, server, tool, clock_timestamp() < until AS in_time, standing = '' OR EXISTS (
    SELECT FROM {schema}.standing s
    WHERE s.scope = a.scope AND s.id = a.standing AND clock_timestamp() < s.until AND {valid}
  ) AS covered
  FROM {schema}.approvals a WHERE id = $1::text AND {valid}
  FOR UPDATE
), changed AS (
  UPDATE {schema}.approvals a
  SET state = $2::text, origin = DEFAULT, until = CASE WHEN $2 = 'approved' THEN clock_timestamp() + make_interval(secs => $4) ELSE a.until END
  FROM was WHERE a.id = was.id AND was.state = ANY($3::text[])
    AND (was.in_time OR $2 NOT IN ('approved', 'spent')) AND (was.covered OR $2 <> 'spent')
  RETURNING a.id
)
INSERT INTO {schema}.history (id, step, effect, by, scope, server, tool, details)
SELECT $1, $2, EXISTS (SELECT FROM changed), $5::text, coalesce(scope, ''), coalesce(server, ''), coalesce(tool, ''), $6::json
FROM (SELECT) one LEFT JOIN was ON true
RETURNING effect, coalesce((SELECT CASE WHEN covered OR $2 <> 'spent' THEN state ELSE 'void' END FROM was), '')
