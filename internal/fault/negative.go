package fault

import (
	"math"
	"time"
)

// RefuseNegative panics if the value of an option, such as "cache: Options.TTL", is
// negative or not finite.
func RefuseNegative[N int | int64 | float64 | time.Duration](option string, value N) {
	switch {
	case value < 0:
		panic(option + " is negative")
	case !(float64(value) <= math.MaxFloat64): // also for NaN
		panic(option + " is not finite")
	}
}
