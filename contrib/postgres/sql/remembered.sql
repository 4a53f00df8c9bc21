-- With a null, $1 is any scope.
SELECT form, uses, extract(epoch FROM until - clock_timestamp())::float8, {valid}
FROM {schema}.standing
WHERE ($1::text IS NULL OR scope = $1) AND ($2::text = '' AND $3::text = '' OR server = $2 AND tool = $3) AND clock_timestamp() < until
ORDER BY until
