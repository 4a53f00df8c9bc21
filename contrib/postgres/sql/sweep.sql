-- An approval is kept for a day after its time, for late answers. What is locked is in use, and is swept later.
WITH old AS (
  DELETE FROM {schema}.approvals WHERE id IN (
    SELECT id FROM {schema}.approvals WHERE until < clock_timestamp() - interval '1 day' LIMIT 1000 FOR UPDATE SKIP LOCKED)
), settled AS (
  DELETE FROM {schema}.doubt WHERE (place, key) IN (
    SELECT place, key FROM {schema}.doubt WHERE until <= clock_timestamp() LIMIT 1000 FOR UPDATE SKIP LOCKED)
), gone AS (
  DELETE FROM {schema}.standing WHERE (scope, id) IN (
    SELECT scope, id FROM {schema}.standing WHERE until <= clock_timestamp() OR NOT {valid} FOR UPDATE SKIP LOCKED)
  RETURNING id, scope, server, tool, NOT {valid} AS invalid
), ended AS (
  INSERT INTO {schema}.history (id, step, effect, by, scope, server, tool)
  SELECT id, 'void', true, 'restore', scope, server, tool FROM gone WHERE invalid
)
SELECT count(*) FROM gone WHERE invalid
