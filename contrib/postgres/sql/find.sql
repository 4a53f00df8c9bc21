-- As for rememberedtool. Approvals of any arguments, and those by a pattern, which name none, are returned as well.
SELECT form, uses, extract(epoch FROM until - clock_timestamp())::float8, {valid}
FROM {schema}.standing
WHERE {of call} = ANY(ARRAY[
    hashtext($1::text || '/' || $2::text || '/' || $3::text || '/' || $4::text),
    hashtext($1 || '/' || $2 || '/' || $3 || '/any'),
    hashtext($1 || '/' || $2 || '/' || $3 || '/')])
  AND scope || '' = $1 AND server = $2 AND tool = $3 AND coalesce(form ->> 'arguments', '') IN ($4, 'any', '') AND clock_timestamp() < until
ORDER BY until
