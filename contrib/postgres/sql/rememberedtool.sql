-- The planner does not know that a scope may have many approvals. So the hash is the only condition that an index has.
SELECT form, uses, extract(epoch FROM until - clock_timestamp())::float8, {valid}
FROM {schema}.standing
WHERE {of tool} = hashtext($1::text || '/' || $2::text || '/' || $3::text)
  AND scope || '' = $1 AND server = $2 AND tool = $3 AND clock_timestamp() < until
ORDER BY until
