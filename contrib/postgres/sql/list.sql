SELECT form, uses, extract(epoch FROM until - clock_timestamp())::float8, {valid}
FROM {schema}.standing WHERE clock_timestamp() < until ORDER BY until
