SELECT form, told FROM {schema}.doubt WHERE place = $1::text AND clock_timestamp() < until ORDER BY at
