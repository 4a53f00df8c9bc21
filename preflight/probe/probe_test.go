package probe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight"
)

// A probeCase is a text, its class, and a part of the explanation.
type probeCase struct {
	text string
	want annotation.Safety
	why  string
}

func checkProbe(t *testing.T, read preflight.Probe, cases []probeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(fmt.Sprintf("%.60s", c.text), func(t *testing.T) {
			t.Parallel()
			got := read(c.text)
			if got.Annotations.Safety() != c.want || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s: %v (%s), want %v (…%s…)", c.text, got.Annotations.Safety(), got.Why, c.want, c.why)
			}
		})
	}
}

// checkVerdict holds for any text: there is a reason, on one line, and it is short.
func checkVerdict(t *testing.T, got preflight.Verdict) {
	t.Helper()
	if got.Why == "" || len(got.Why) > 500 || strings.ContainsFunc(got.Why, func(r rune) bool { return r < ' ' || r == '\u2028' }) {
		t.Errorf("the reason is not a short line: %q", got.Why)
	}
}
