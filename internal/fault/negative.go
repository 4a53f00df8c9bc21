package fault

import "time"

// RefuseNegative panics if the value of an option, such as "cache: Options.TTL", is
// negative.
func RefuseNegative[N int | int64 | float64 | time.Duration](option string, value N) {
	if value < 0 {
		panic(option + " is negative")
	}
}
