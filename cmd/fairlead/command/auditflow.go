package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// ends are the ends of calls in the order of a file, by what a source names.
type ends map[endKey][]audit.Record

type endKey struct{ run, call string }

// printFlow draws where the arguments of a call came from, and below each result where the
// arguments of its call did. An ID that several calls have is that of the last.
func printFlow(out io.Writer, path, id string) error {
	of, last := make(ends), audit.Record{}
	err := eachLine(path, func([]byte) bool { return false }, func(_ []byte, r audit.Record) {
		if r.Kind != audit.End || r.Call == "" {
			return
		}
		r.Arguments, r.Result = nil, nil
		key := endKey{r.Run, r.Call}
		if of[key] = append(of[key], r); r.Call == id {
			last = r
		}
	})
	if err != nil {
		return err
	}
	if last.Kind == "" {
		return fmt.Errorf("%s has no end of a call %q; fairlead audit show prints the calls with their IDs, as call=ID", path, id)
	}
	of.draw(out, last, "", make(map[int64]bool))
	return nil
}

// draw writes the end of a call and, indented below it, each source of its arguments with the call that it came from.
// Each call is drawn once.
func (of ends) draw(out io.Writer, r audit.Record, indent string, drawn map[int64]bool) {
	fmt.Fprintf(out, "%s%s\n", indent, recordLine(r))
	indent += "  "
	if len(r.Sources) == 0 && r.Class != "safe" {
		fmt.Fprintf(out, "%sthe sources of its arguments are not recorded\n", indent)
	}
	for _, s := range r.Sources {
		line := s.String()
		if s.Rule != "" {
			line += " [" + s.Rule + "]"
		}
		fmt.Fprintf(out, "%s%s\n", indent, safetext.Line(line))
		if from, ok := of.before(r, s); ok && !drawn[from.N] {
			drawn[from.N] = true
			of.draw(out, from, indent+"  ", drawn)
		}
	}
}

// before returns the end of the call that a source names: the nearest one earlier in the
// same run. Each step goes back in N, so no way is endless.
func (of ends) before(r audit.Record, s audit.Source) (from audit.Record, ok bool) {
	for _, end := range of[endKey{r.Run, s.Call}] {
		if s.Call != "" && end.N < r.N && strings.TrimPrefix(end.Server+"/"+end.Tool, "/") == s.Tool {
			from, ok = end, true
		}
	}
	return from, ok
}
