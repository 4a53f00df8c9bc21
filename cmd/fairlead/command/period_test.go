package command

import (
	"testing"
	"time"
)

func TestPeriod(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"7d": 7 * 24 * time.Hour, "1d": 24 * time.Hour, "0d": 0, "36500d": 36500 * 24 * time.Hour,
		"24h": 24 * time.Hour, "1h30m": 90 * time.Minute, "0": 0, "-1h": -time.Hour,
	} {
		var p period
		if err := p.Set(text); err != nil || time.Duration(p) != want {
			t.Errorf("%s: got %v, %v", text, time.Duration(p), err)
		}
	}
	for name, text := range map[string]string{
		"B410: days without a number":   "d",
		"B411: a fraction of days":      "1.5d",
		"B412: days before":             "-7d",
		"B413: days beyond a duration":  "106752d",
		"B414: days and hours together": "1d12h",
		"B415: days in words":           "7 days",
		"B416: weeks":                   "1w",
		"B417: digits of another form":  "٧d",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := period(time.Hour)
			if err := p.Set(text); err == nil || p != period(time.Hour) {
				t.Errorf("%q: got %v, %v", text, p.String(), err)
			}
		})
	}
}
