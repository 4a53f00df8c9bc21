WITH gone AS (
  DELETE FROM {schema}.standing WHERE scope = $1::text AND id = $2::text RETURNING server, tool
), void AS (
  UPDATE {schema}.approvals SET state = 'void', origin = DEFAULT
  WHERE scope = $1 AND id = $2 AND state = 'approved' AND {valid}
  RETURNING server, tool
), revoked AS (
  INSERT INTO {schema}.history (id, step, effect, scope, server, tool)
  SELECT $2, 'revoked', true, $1, server, tool FROM (SELECT * FROM gone UNION SELECT * FROM void) ended
)
SELECT true
