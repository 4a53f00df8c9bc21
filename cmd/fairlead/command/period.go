package command

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A period is the value of a flag: a time.Duration, which may also be written as a number of days, such as 7d.
type period time.Duration

// mostDays is how many days a period has at most. A time.Duration ends after 292 years.
const mostDays = 100 * 365

// Set reads a period.
func (p *period) Set(text string) error {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseUint(number, 10, 32); err == nil && days <= mostDays {
			*p = period(time.Duration(days) * 24 * time.Hour)
			return nil
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		*p = period(d)
		return nil
	}
	return fmt.Errorf("want a time such as 24h or 7d, got %q", text)
}

// String returns the period. No help prints "0" as a default.
func (p *period) String() string {
	if *p == 0 {
		return "0"
	}
	return time.Duration(*p).String()
}

// Type is how the help names a period.
func (*period) Type() string { return "duration" }
