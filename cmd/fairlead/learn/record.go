package learn

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A Record is the calls of audit files that have ended, the oldest first.
type Record struct {
	calls    []audit.Record      // ends, with the arguments and the definition of their intents
	intents  map[id]audit.Record // of calls without an end
	seen     map[id]bool         // so that a file that is given twice counts once
	unlisted int                 // calls of tools that were not listed
}

// An id is that of a call: the run of its writer, and its number there.
type id struct {
	run string
	n   int64
}

// Read reads audit files. An error names a file that was cut or changed, or the line that another version wrote.
func Read(files []string) (*Record, error) {
	r := &Record{intents: make(map[id]audit.Record), seen: make(map[id]bool)}
	for _, name := range files {
		if err := r.read(name); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(r.calls, func(a, b audit.Record) int { return a.Time.Compare(b.Time) })
	return r, nil
}

func (r *Record) read(name string) error {
	switch report, err := audit.Verify(name); {
	case err != nil:
		return err
	case report.State == audit.Damaged || report.State == audit.NotAttested:
		return fmt.Errorf("%s: %s: %s; it cannot be used (see fairlead audit verify)", name, report.State, report.Problem)
	}
	in, err := os.Open(filepath.Clean(name))
	if err != nil {
		return err
	}
	defer in.Close()
	for lines, n := bufio.NewReader(in), 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if json.Valid(line) { // one that was cut off is explained by a later one
			if err := r.add(line); err != nil {
				return fmt.Errorf("%s: line %d: %w; another version of Fairlead wrote it, so read it with that one", name, n, err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// add takes one line. A member that is not known is an error, since another version wrote it.
func (r *Record) add(line []byte) error {
	var got struct {
		Seq  int64  `json:"seq"`
		Prev string `json:"prev"`
		audit.Record
		Found json.RawMessage `json:"found"`
	}
	strict := json.NewDecoder(bytes.NewReader(line))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&got); err != nil {
		return errors.New(safetext.Line(err.Error()))
	}
	var class annotation.Safety
	if err := class.UnmarshalText([]byte(got.Class)); got.Class != "" && err != nil {
		return errors.New(safetext.Line(err.Error()))
	}
	call := id{got.Run, got.N}
	switch got.Kind {
	case audit.Intent:
		if !r.seen[call] {
			r.intents[call] = got.Record
		}
	case audit.End:
		if r.seen[call] {
			return nil
		}
		r.seen[call] = true
		begun := r.intents[call]
		delete(r.intents, call)
		if got.Arguments == nil {
			got.Arguments = begun.Arguments
		}
		if got.Definition == "" {
			got.Definition = begun.Definition
		}
		if got.Tool == "" || refusedBy(got.Record) == "proxy" { // which knew no such tool: the caller chose its name
			r.unlisted++
			return nil
		}
		r.calls = append(r.calls, got.Record)
	case audit.Recovered, audit.Continued:
	default:
		return fmt.Errorf("a record of the kind %q is unknown", safetext.Line(string(got.Kind)))
	}
	return nil
}

// refusedBy returns the stage that refused a call, "" for none.
func refusedBy(r audit.Record) string {
	for _, d := range r.Decisions {
		if d.What == "refused" {
			return d.Stage
		}
	}
	return ""
}

// There returns the servers and tools of the calls.
func (r *Record) There() policy.There {
	there := policy.There{Listed: make(map[string][]string), Classes: make(map[string]annotation.Safety)}
	for _, c := range r.calls {
		strictest(there.Classes, c.Server+"/"+c.Tool, c.Class)
		tools, known := there.Listed[c.Server]
		if !known {
			there.Servers = append(there.Servers, c.Server)
		}
		if !slices.Contains(tools, c.Tool) {
			there.Listed[c.Server] = append(tools, c.Tool)
		}
	}
	return there
}

// rising are the classes, the strictest last: of calls whose class was not known a person's approval covers more than of
// dangerous ones.
var rising = []annotation.Safety{annotation.Safe, annotation.Moderate, annotation.Unknown, annotation.Dangerous}

// strictest adds the class of a call to those of tools, and keeps the strictest of each.
func strictest(classes map[string]annotation.Safety, tool, class string) {
	at := slices.IndexFunc(rising, func(s annotation.Safety) bool { return s.String() == class })
	have, known := classes[tool]
	if at >= 0 && (!known || slices.Index(rising, have) < at) {
		classes[tool] = rising[at]
	}
}

// Notes returns what the record lacks, a line each.
func (r *Record) Notes() (notes []string) {
	class, arguments, refused := 0, 0, 0
	for _, c := range r.calls {
		if c.Class == "" {
			class++
		}
		if proxy.Arguments(c) == nil && c.Class != annotation.Safe.String() && c.Class != annotation.Moderate.String() {
			arguments++
		}
		if byPolicy.MatchString(refusedBy(c)) {
			refused++
		}
	}
	for _, note := range []struct {
		n    int
		what string
	}{
		{class, "have no class, and count as unknown"},
		{arguments, "have no arguments, so that rules over arguments and remembered approvals cannot match"},
		{refused, "were refused by a policy, whose rules are not learnt"},
		{len(r.intents), "have no end, and are left out"},
		{r.unlisted, "named a tool that was not listed, and are left out"},
	} {
		if note.n > 0 {
			notes = append(notes, fmt.Sprintf("%d calls %s", note.n, note.what))
		}
	}
	return notes
}
