package learn

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

var dispositions = [...]string{proxy.Allowed: "allowed", proxy.Asked: "asked", proxy.Refused: "refused"}

// byPolicy matches the stage of a refusal by a policy: a file with a line, or its readOnly.
var byPolicy = regexp.MustCompile(`:\d+$|^read-only$`)

// before returns what was done with a call when it was recorded, or would have been if it was only observed. It is
// not known of a call that was refused, but not by a policy, or whose question was left open: another call has its end.
func before(r audit.Record) (f proxy.Disposition, known bool) {
	if r.Outcome == audit.Denied {
		return proxy.Asked, true
	}
	for _, d := range r.Decisions {
		switch {
		case d.Stage == "hitl" && d.What == "pending":
			return f, false
		case d.What == "refused":
			return proxy.Refused, byPolicy.MatchString(d.Stage)
		case d.Stage == "hitl" && r.Via != "policy", d.Stage == "observe" && strings.HasPrefix(d.Why, "would: ask first"):
			f = proxy.Asked
		case d.Stage == "observe" && strings.HasPrefix(d.Why, "would: refuse"):
			f = proxy.Refused
		}
	}
	return f, f == proxy.Asked || r.Outcome != audit.Refused && r.Outcome != audit.NotSent
}

// ran reports whether a call reached its server, or may have.
func ran(r audit.Record) bool {
	return !slices.Contains([]audit.Outcome{audit.Denied, audit.Refused, audit.NotSent, audit.Cancelled, audit.InputRequired}, r.Outcome)
}

// A Comparison is what a policy changes about recorded calls. [Record.Compare] makes one.
type Comparison struct {
	// Loosened is how many calls were asked about or refused, and would be allowed.
	Loosened int
	// Broken is how many calls ran, and would be refused.
	Broken int

	rows        map[string]*row
	left, blind int
}

// A row is what is done with the calls of one tool, before and after.
type row struct {
	calls         int
	before, after [len(dispositions)]int
	changes       map[[2]proxy.Disposition]int
	examples      map[[2]proxy.Disposition]string
}

// Compare runs the calls against a policy.
func (r *Record) Compare(ctx context.Context, p *policy.Policy) (*Comparison, error) {
	trial, err := proxy.NewTrial(p, r.calls) //nolint:contextcheck // it asks no server
	if err != nil {
		return nil, err
	}
	c := &Comparison{rows: make(map[string]*row)}
	for _, call := range r.calls {
		was, known := before(call)
		if !known {
			c.left++
			continue
		}
		is, err := trial.Try(ctx, call)
		if err != nil {
			return nil, err
		}
		name := call.Server + "/" + call.Tool
		if proxy.Arguments(call) == nil && p.Arguments[name] != nil {
			c.blind++
		}
		if c.rows[name] == nil {
			c.rows[name] = &row{changes: make(map[[2]proxy.Disposition]int), examples: make(map[[2]proxy.Disposition]string)}
		}
		c.rows[name].count(call, was, is)
		if was != proxy.Allowed && is == proxy.Allowed {
			c.Loosened++
		}
		if is == proxy.Refused && ran(call) {
			c.Broken++
		}
	}
	return c, nil
}

func (w *row) count(call audit.Record, was, is proxy.Disposition) {
	w.calls++
	w.before[was]++
	w.after[is]++
	if was != is {
		w.changes[[2]proxy.Disposition{was, is}]++
		w.examples[[2]proxy.Disposition{was, is}] = fmt.Sprintf("call %s of %s", cmp.Or(call.Call, fmt.Sprint(call.Run, "/", call.N)), call.Time.UTC().Format("2006-01-02T15:04:05Z"))
	}
}

// Write prints a table with a line for each tool: how many of its calls were asked about, refused and allowed, how
// many would be, and the last call of each change.
func (c *Comparison) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tCALLS\tASKED\tREFUSED\tALLOWED\tCHANGES")
	for _, name := range slices.Sorted(maps.Keys(c.rows)) {
		row := c.rows[name]
		fmt.Fprintf(w, "%s\t%d", safetext.Line(name), row.calls)
		for _, f := range []proxy.Disposition{proxy.Asked, proxy.Refused, proxy.Allowed} {
			if row.before[f] == row.after[f] {
				fmt.Fprintf(w, "\t%d", row.before[f])
			} else {
				fmt.Fprintf(w, "\t%d → %d", row.before[f], row.after[f])
			}
		}
		var changes []string
		for _, change := range slices.SortedFunc(maps.Keys(row.changes), func(a, b [2]proxy.Disposition) int { return slices.Compare(a[:], b[:]) }) {
			changes = append(changes, fmt.Sprintf("%d %s → %s (%s)", row.changes[change], dispositions[change[0]], dispositions[change[1]], safetext.Line(row.examples[change])))
		}
		fmt.Fprintf(w, "\t%s\n", strings.Join(changes, ", "))
	}
	if c.left > 0 {
		fmt.Fprintf(w, "%d calls were refused by a limit, a lock or a server, or waited for their question, and are left out\n", c.left)
	}
	if c.blind > 0 {
		fmt.Fprintf(w, "%d calls were tested without their arguments, which are not recorded, and the policy has rules over them\n", c.blind)
	}
	return w.Flush()
}
