-- With a null, $1 is any name.
SELECT value FROM {schema}.credentials WHERE ($1::text IS NULL OR name = $1) AND value IS NOT NULL AND {valid}
