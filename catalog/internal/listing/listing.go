// Package listing reads the tools that a server lists, within limits, and leaves out what cannot be taken.
package listing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/internal/canonical"
	"github.com/fairlead-go/fairlead/internal/rawlist"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits on one server's list.
const (
	maxPages      = 1000
	maxDefinition = 2 << 20 // bytes of one tool's definition
	maxRefused    = 100     // tools that are named as left out; the others are counted
)

// A Definition is one tool of a list, a copy, since the SDK returns the list that it caches.
type Definition struct {
	Tool               *middleware.Tool // without annotations
	Declared, Inferred annotation.Annotations
	Fault              string // of what it declares, "" for none
	Unchecked          string // why its answers cannot be compared with its output schema, "" if they can
	Form               []byte // its canonical form, which the digest is over, if Limits.Forms
}

// A Listing is what one server lists.
type Listing struct {
	Tools    []*Definition // by name
	LeftOut  []finding.Finding
	Prepared bool          // every page was seen as the server wrote it
	TTL      time.Duration // 0 if the server does not say

	id      string
	forms   bool
	listed  int // tools, whether they can be taken or not
	bytes   int
	named   map[string]int // how often a name is listed, at first among what is refused
	unnamed int            // how many were refused beyond those in LeftOut
	stray   bool
	first   string // line of the server that is not a message, see beside
}

// hasAll reports whether the names of a page were all listed before.
func (l *Listing) hasAll(page *mcp.ListToolsResult) bool {
	for _, t := range page.Tools {
		if t == nil || !slices.ContainsFunc(l.Tools, func(d *Definition) bool { return d.Tool.Name() == t.Name }) && l.named[t.Name] == 0 {
			return false
		}
	}
	return true
}

// cut notes that the list was not read to its end, and why.
func (l *Listing) cut(why string) {
	l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Kind: finding.LeftOut, Text: why})
}

// beside notes that the server wrote a line beside its messages. How many there are is left out: the finding stays as it
// is while the server writes more of them.
func (l *Listing) beside(n int, first string) { l.stray, l.first = n > 0, first }

// page takes the tools of a page. raw is the page as the server wrote it, if a prepared session has kept it: the SDK
// drops what it cannot read, and does not keep whether a hint was absent or false.
func (l *Listing) page(page *mcp.ListToolsResult, raw *rawlist.Page) {
	ttl := rawlist.Milliseconds(page.TTLMs)
	if raw.Seen() {
		ttl = raw.TTL()
	} else {
		l.Prepared = false
	}
	if ttl > 0 && (l.TTL == 0 || ttl < l.TTL) {
		l.TTL = ttl
	}
	if l.Tools == nil { // most lists have one page
		l.Tools = make([]*Definition, 0, len(page.Tools))
	}
	faults := raw.Faults(page.Tools)
	for _, f := range faults {
		l.refuse(l.listed+f.Index, f.Name, f.Err)
	}
	for i, def := range page.Tools {
		if def == nil {
			l.refuse(l.listed+i, "", errors.New("it is null"))
			continue
		}
		def = raw.Exact(def)
		written := raw.Annotations(def.Name)
		size, input := measure(def)
		size += len(written)
		l.bytes += size
		d, err := take(l.id, def, size, input)
		if err != nil {
			l.refuse(l.listed+i, def.Name, err)
			continue
		}
		if l.forms { // of the copy it would be another one, whose numbers are float64
			d.Form, _ = canonical.AppendTool(nil, def) // it had a digest
		}
		if raw.Seen() {
			d.Declared, err = annotation.FromRaw(d.Tool.Definition, written)
		} else {
			d.Declared, err = annotation.FromTool(d.Tool.Definition)
		}
		if err != nil {
			d.Fault = Line(err)
		}
		l.Tools = append(l.Tools, d)
	}
	l.listed += len(page.Tools) + len(faults)
}

// refuse leaves the tool at a place out. Its name counts in any case, since a twin of it is ambiguous.
func (l *Listing) refuse(i int, name string, err error) {
	if l.named[name]++; l.named[name] == 1 {
		l.bytes += len(name)
	}
	if len(l.LeftOut) == maxRefused {
		l.unnamed++
		return
	}
	kind := finding.LeftOut
	if _, bad := errors.AsType[schemaError](err); bad {
		kind = finding.Schema
	}
	l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Kind: kind, Text: fmt.Sprintf("%s was left out: %s", named(i, name), Line(err))})
}

// done completes a list when its last page is there.
func (l *Listing) done() {
	slices.SortFunc(l.Tools, func(a, b *Definition) int { return strings.Compare(a.Tool.Name(), b.Tool.Name()) })
	l.dropTwins()
	if l.unnamed > 0 {
		l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Kind: finding.LeftOut, Text: fmt.Sprintf("%d more tools were left out", l.unnamed)})
	}
	if l.stray {
		l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Kind: finding.Stray, Text: fmt.Sprintf(
			"wrote lines to its standard output that are not messages; they were left out; the first: %s", l.first)})
	}
	// All together, since a shared prefix does not distinguish them.
	words := make([]*mcp.Tool, len(l.Tools))
	for i, d := range l.Tools {
		words[i] = d.Tool.Definition
	}
	for i, inferred := range infer.ToolsOf(l.id, words) {
		l.Tools[i].Inferred = inferred
		l.Tools[i] = l.Tools[i].share() // it is complete now
	}
}

// dropTwins removes all tools that share a name, since a call of it would be ambiguous.
func (l *Listing) dropTwins() {
	for _, d := range l.Tools {
		l.named[d.Tool.Name()]++
	}
	left := ""
	l.Tools = slices.DeleteFunc(l.Tools, func(d *Definition) bool {
		name := d.Tool.Name()
		n := l.named[name]
		if n > 1 && name != left { // once for all of them
			left = name
			l.LeftOut = append(l.LeftOut, finding.Finding{Server: l.id, Tool: name, Kind: finding.LeftOut, Text: fmt.Sprintf("left out: the server lists %d tools of this name", n)})
		}
		return n > 1
	})
}
