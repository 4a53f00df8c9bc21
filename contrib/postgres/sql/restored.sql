-- Ends the remembered approvals that a restore has written, and deletes what has expired. It reads all of them.
WITH gone AS (
  DELETE FROM {schema}.standing WHERE (scope, id) IN (
    SELECT scope, id FROM {schema}.standing WHERE until <= clock_timestamp() OR NOT {valid} FOR UPDATE SKIP LOCKED)
  RETURNING id, scope, server, tool, NOT {valid} AS invalid
), ended AS (
  INSERT INTO {schema}.history (id, step, effect, by, scope, server, tool)
  SELECT id, 'void', true, 'restore', scope, server, tool FROM gone WHERE invalid
)
SELECT count(*) FROM gone WHERE invalid
