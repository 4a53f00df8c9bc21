-- Deletes some of what has expired, and returns whether there may be more. An approval is kept for a day after its time,
-- for late answers. What is locked is in use, and is swept later. The time is one that an index can be searched by.
WITH old AS (
  DELETE FROM {schema}.approvals WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM {schema}.approvals WHERE until < statement_timestamp() - interval '1 day' LIMIT $1::int FOR UPDATE SKIP LOCKED))
  RETURNING id
), settled AS (
  DELETE FROM {schema}.doubt WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM {schema}.doubt WHERE until <= statement_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED))
  RETURNING key
), gone AS (
  DELETE FROM {schema}.standing WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM {schema}.standing WHERE until <= statement_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED))
  RETURNING id
)
SELECT greatest((SELECT count(*) FROM old), (SELECT count(*) FROM settled), (SELECT count(*) FROM gone)) >= $1
