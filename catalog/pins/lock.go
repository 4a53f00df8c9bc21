// Package pins records which definitions of tools were accepted, in a file that is reviewed like code. With a
// [Lock] in catalog.Options.Lock the catalog neither lists nor calls any other tool.
package pins

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Lock holds the definitions that were accepted. It is safe for concurrent use. The zero value accepts none;
// a nil Lock accepts all. As text it is sorted JSON, so that a review can see each change:
//
//	{
//	  "version": 1,
//	  "tools": {
//	    "crm/list_customers": {
//	      "class": "safe",
//	      "digest": "5b8a…",
//	      "definition": {"description": "Lists customers.", …
//
// The definition serves to show a later one beside it; the digest is over its canonical form.
type Lock struct {
	mu   sync.RWMutex
	pins map[name]pin
}

type name struct{ server, tool string }

func (n name) String() string { return n.server + "/" + n.tool }

// A pin is an accepted definition.
type pin struct {
	class    annotation.Safety
	digest   middleware.Digest
	form     []byte    // the definition in its canonical form
	decision *Decision // of a review, nil for none; never changed
}

// Check returns a [*NotAcceptedError] unless the tool is as it was accepted. A less strict class counts as a
// change: other tools of the server, or another version of this module, may lower it.
func (l *Lock) Check(tool *middleware.Tool, form []byte) error {
	if l == nil {
		return nil
	}
	p, class := l.pin(name{tool.Server, tool.Name()}), tool.Safety()
	if p.form != nil && p.digest == tool.Digest && class <= max(p.class, annotation.Dangerous) {
		return nil
	}
	c := Change{Server: tool.Server, Tool: tool.Name(), Kind: New, Was: p.class, Is: class, accepted: p, Now: tool}
	c.now = pin{class: class, digest: tool.Digest, form: form}
	if p.form != nil {
		c.Kind = Changed
	}
	if p.digest == tool.Digest { // the class alone has changed
		c.now.decision = p.decision
	}
	return &NotAcceptedError{Change: c}
}

func (l *Lock) pin(id name) pin {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.pins[id]
}

// Accepted returns the names of a server's tools that were accepted, sorted.
func (l *Lock) Accepted(server string) []string {
	if l == nil {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	var names []string
	for id := range l.pins {
		if id.server == server {
			names = append(names, id.tool)
		}
	}
	slices.Sort(names)
	return names
}

// Servers returns the servers with a tool that was accepted, sorted.
func (l *Lock) Servers() []string {
	if l == nil {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	servers := make(map[string]bool)
	for id := range l.pins {
		servers[id.server] = true
	}
	return slices.Sorted(maps.Keys(servers))
}

// Definition returns a tool as it was accepted, for a host that cannot list its server; nil if it was not accepted. The
// server may have changed it since.
func (l *Lock) Definition(server, tool string) *mcp.Tool {
	if l == nil {
		return nil
	}
	p := l.pin(name{server, tool})
	if p.form == nil {
		return nil
	}
	definition := new(mcp.Tool)
	digits := json.NewDecoder(bytes.NewReader(p.form))
	digits.UseNumber() // the digest is over its digits
	if digits.Decode(definition) != nil {
		return nil // it was never listed by a server that can be called
	}
	return definition
}

// A Catalog is what a [Lock] is compared with; *catalog.Catalog is one.
type Catalog interface {
	// Held returns the error of Lock.Check for each held tool, and by server the accepted tools that are gone.
	Held() (held []error, gone map[string][]string)
	// Recheck asks the catalog's lock about every tool again.
	Recheck()
}

// Changes returns what differs from the accepted definitions, sorted. Until Accept, no such tool is listed or called.
func (l *Lock) Changes(c Catalog) []Change {
	var changes []Change
	held, gone := c.Held()
	for _, err := range held {
		if refused, ok := errors.AsType[*NotAcceptedError](err); ok {
			changes = append(changes, refused.Change)
		}
	}
	for server, tools := range gone {
		for _, tool := range tools {
			p := l.pin(name{server, tool})
			changes = append(changes, Change{Server: server, Tool: tool, Kind: Removed, Was: p.class, accepted: p})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool))
	})
	return changes
}

// Accept accepts the definitions that the changes show, and deletes removed tools. If one has changed again
// since, it fails and accepts none. Call [Lock.Save] afterwards.
//
//	lock.Accept(tools, lock.Changes(tools)...) // trust on first use
func (l *Lock) Accept(c Catalog, changes ...Change) error {
	if len(changes) == 0 {
		return nil
	}
	current := l.Changes(c)
	accepted := make(map[name]pin, len(changes))
	for _, change := range changes {
		if !slices.ContainsFunc(current, change.same) {
			return fmt.Errorf("pins: %s is no longer as this change shows it, so nothing was accepted; look at Lock.Changes again", safetext.Cut(safetext.Line(change.name().String()), 200))
		}
		accepted[change.name()] = change.now
	}
	l.put(c, accepted)
	return nil
}

// put replaces the pins of these names; one without a definition is deleted.
func (l *Lock) put(c Catalog, accepted map[name]pin) {
	l.mu.Lock()
	if l.pins == nil {
		l.pins = make(map[name]pin)
	}
	maps.Copy(l.pins, accepted)
	maps.DeleteFunc(l.pins, func(_ name, p pin) bool { return p.form == nil })
	l.mu.Unlock()
	c.Recheck()
}
