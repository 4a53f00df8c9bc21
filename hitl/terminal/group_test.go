package terminal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/terminal"
)

func TestTerminalAsksAboutSeveralCallsAtOnce(t *testing.T) {
	t.Parallel()
	const a, b, c = "qa", "qb", "qc"
	all := map[string]hitl.Decision{a: yes, b: yes, c: yes}
	reason := hitl.Decision{Reason: "ask mother, 1 of them"}
	for _, tt := range []struct {
		name, typed string
		want        map[string]hitl.Decision
		err         string
		shown       string
	}{
		{"numbers", "1 3\n", map[string]hitl.Decision{a: yes, c: yes}, "", "1 of 3"},
		{"numbers with commas, twice", "3,3, 2\n", map[string]hitl.Decision{b: yes, c: yes}, "", "3 of 3"},
		{"all", "All\n", all, "", `"b.txt"`},
		{"n", "n\n", nil, "", ""},
		{"nothing", "\n", nil, "", ""},
		{"y says nothing of which", "y\n2\n", map[string]hitl.Decision{b: yes}, "", "nothing was allowed"},
		{"yes and nothing more", "Yes\n", nil, "the input has ended", "nothing was allowed"},
		{"a number too high", "1 4\n2\n", map[string]hitl.Decision{b: yes}, "", "nothing was allowed"},
		{"zero", "0\nn\n", nil, "", "nothing was allowed"},
		{"commas alone", ",\n2\n", map[string]hitl.Decision{b: yes}, "", "nothing was decided"},
		{"words alone", "ask mother, 1 of them\n2\n", map[string]hitl.Decision{b: yes}, "", "Numbers approve those calls once"},
		{"guidance is for all of them", "i\nask mother, 1 of them\n", map[string]hitl.Decision{a: reason, b: reason, c: reason}, "", ""},
		{"one by one", "o\ny\n\ny\n", map[string]hitl.Decision{a: yes, c: yes}, "", "[y]es"},
		{"the words for letters", "details\none by one\ny\nn\nn\n", map[string]hitl.Decision{a: yes}, "", ""},
		{"details first", "d\n2\n", map[string]hitl.Decision{b: yes}, "", "2 of 3"},
		{"the end of the input", "", nil, "the input has ended", "no answer here"},
		{"the end in the middle", "o\ny\n", nil, "the input has ended", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := new(screen)
			var requests []hitl.Request
			for _, id := range []string{a, b, c} {
				requests = append(requests, hitl.Request{
					ID: id, Tool: tool(t, "delete", annotation.Destructive()), Arguments: []byte(`{"path":"` + id[1:] + `.txt"}`), Deadline: time.Now().Add(time.Minute),
				})
			}
			confirmer := terminal.New(strings.NewReader(tt.typed), out).(hitl.GroupConfirmer)
			got, err := confirmer.ConfirmGroup(t.Context(), requests)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got error %v, want %q", err, tt.err)
			}
			if !strings.Contains(out.String(), tt.shown) {
				t.Errorf("it shows no %q:\n%s", tt.shown, out)
			}
			for _, r := range requests {
				if g, w := got[r.ID], tt.want[r.ID]; err == nil && (g.Verdict != w.Verdict || g.Reason != w.Reason) {
					t.Errorf("%s: got %+v, want %+v", r.ID, g, w)
				}
			}
		})
	}
}
