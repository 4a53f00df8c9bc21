package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/defdiff"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/safetext"
)

// A ChangeKind is what became of a tool since definitions were accepted.
type ChangeKind string

// The kinds of a [Change].
const (
	ToolNew     ChangeKind = "new"     // nobody has accepted a tool of this name
	ToolChanged ChangeKind = "changed" // its definition, or its class has become milder
	ToolRemoved ChangeKind = "removed" // its server no longer lists it
)

// A Change is one difference between what a server lists and what was accepted,
// with both definitions as they were when [Catalog.Changes] was asked.
type Change struct {
	Server, Tool string
	Kind         ChangeKind
	// Was is the class with which it was accepted, Is the one that it has now;
	// Unknown where there is none.
	Was, Is annotation.Safety

	accepted, now pin
	tool          *middleware.Tool // nil for one that was removed
}

// String returns the change on one line, with no word that the server wrote:
//
//	crm/list_customers: changed since it was accepted (annotations, description; safe → dangerous)
func (c Change) String() string {
	tool := c.Server + "/" + c.Tool
	switch {
	case c.Kind == ToolNew:
		return fmt.Sprintf("%s: new, nobody has accepted it (%s)", tool, c.Is)
	case c.Kind == ToolRemoved:
		return tool + ": was accepted, and its server no longer lists it"
	case c.accepted.digest == c.now.digest:
		return fmt.Sprintf("%s: its class has become milder since it was accepted (%s → %s)", tool, c.Was, c.Is)
	case c.Was == c.Is:
		return fmt.Sprintf("%s: changed since it was accepted (%s)", tool, strings.Join(defdiff.Fields(c.accepted.form, c.now.form), ", "))
	}
	return fmt.Sprintf("%s: changed since it was accepted (%s; %s → %s)", tool, strings.Join(defdiff.Fields(c.accepted.form, c.now.form), ", "), c.Was, c.Is)
}

// Diff returns the change on many lines, safe to show to a person: the class and
// its reasons where it is another one, and each field of the definition that
// differs, the accepted value after a minus and the new one after a plus. Long
// values are cut to what differs.
func (c Change) Diff() string {
	var b strings.Builder
	b.WriteString(c.String() + "\n")
	if c.tool != nil && (c.Was != c.Is || c.Kind == ToolNew) {
		_, reasons, _ := strings.Cut(c.tool.Explain(), "\n")
		b.WriteString("  class\n")
		if c.Kind != ToolNew {
			fmt.Fprintf(&b, "    - %s\n", c.Was)
		}
		fmt.Fprintf(&b, "    + %s\n", c.Is)
		for reason := range strings.Lines(reasons) {
			b.WriteString("    " + safetext.Text(reason))
		}
	}
	if c.Kind != ToolRemoved {
		defdiff.Write(&b, c.accepted.form, c.now.form)
	}
	return b.String()
}

// hold takes out of a snapshot what the lock does not accept. Nobody sees it
// listed, since its words may be the attack.
func (s *snapshot) hold(lock *Lock) {
	if lock == nil {
		return
	}
	s.held = make(map[name]Change)
	listed := s.list
	s.list = nil
	for _, tool := range listed {
		id := name{tool.Server, tool.Name()}
		change, accepted := lock.compare(id, s.tools[id])
		if accepted {
			s.list = append(s.list, tool)
			continue
		}
		s.held[id] = change
		delete(s.models, tool.ModelName())
	}
	for id, p := range lock.pins {
		_, added := s.executors[id.server]
		if _, listed := s.tools[id]; added && !listed {
			s.held[id] = Change{Server: id.server, Tool: id.tool, Kind: ToolRemoved, Was: p.class, accepted: p}
		}
	}
	for id, change := range s.held {
		delete(s.tools, id)
		_, text, _ := strings.Cut(change.String(), ": ")
		kind := FindingNotAccepted
		if change.Kind == ToolRemoved {
			kind = FindingGone
		}
		s.find(id.server, id.tool, kind, text)
	}
	s.findings = sorted(s.findings)
}

// known returns the tools that are listed and those that are held back.
func (s *snapshot) known() []*middleware.Tool {
	tools := slices.Clone(s.list)
	for _, change := range s.held {
		if change.tool != nil {
			tools = append(tools, change.tool)
		}
	}
	slices.SortFunc(tools, byName)
	return tools
}

// compare reports whether a tool is as it was accepted, and what has changed
// otherwise. A class that has become milder is a change: other tools of the
// server, or another version of this module, may have lowered it unseen.
func (l *Lock) compare(id name, e entry) (c Change, accepted bool) {
	p, known := l.pins[id]
	class := e.tool.Safety()
	if known && p.digest == e.tool.Digest && class <= max(p.class, annotation.Dangerous) {
		return Change{}, true
	}
	c = Change{Server: id.server, Tool: id.tool, Kind: ToolNew, Was: p.class, Is: class, accepted: p, tool: e.tool}
	c.now = pin{class: class, digest: e.tool.Digest, form: e.of.form}
	if known {
		c.Kind = ToolChanged
	}
	return c, false
}

// Changes returns what differs from the accepted definitions, sorted; nothing
// where [Options.Lock] is nil. A new or changed tool is neither listed nor called
// until it is accepted.
func (c *Catalog) Changes() []Change {
	return slices.SortedFunc(maps.Values(c.current.Load().held), func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool))
	})
}

// Accept accepts the definitions that the changes show, and no others: where a
// server has changed a tool again since [Catalog.Changes] was asked, it fails and
// accepts none of them. Accepting a tool that was removed forgets it. What comes
// of it is in [Catalog.Lock]; save it, or it is gone with the process.
//
//	tools.Accept(tools.Changes()...) // trust on first use
func (c *Catalog) Accept(changes ...Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	lock := c.lock
	for _, change := range changes {
		id := name{change.Server, change.Tool}
		now, held := c.current.Load().held[id]
		if !held || now.Is != change.Is || now.now.digest != change.now.digest {
			return fmt.Errorf("catalog: %s is no longer as this change shows it, so nothing was accepted; look at Catalog.Changes again", safetext.Line(cut(change.Server+"/"+change.Tool, 200)))
		}
		lock = lock.with(id, now.now)
	}
	c.lock = lock
	c.rebuild(context.Background())
	return nil
}

// Lock returns the definitions that are accepted now, nil where [Options.Lock] is.
func (c *Catalog) Lock() *Lock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lock
}

// ErrNotAccepted is in the tree of every error about a tool whose definition
// nobody has accepted.
var ErrNotAccepted = errors.New("catalog: definition not accepted")

// A NotAcceptedError refuses a call of a tool that is new or has changed since
// definitions were accepted. Its text holds nothing that the server wrote; the
// change has it all.
type NotAcceptedError struct{ Change Change }

func (e *NotAcceptedError) Error() string {
	return fmt.Sprintf("catalog: refused: %s; the host must look at Catalog.Changes and accept it", e.Change)
}

// ForModel tells the model that the tool cannot be used for now.
func (*NotAcceptedError) ForModel() string {
	return "The tool was not called: it is new or has changed, and the host has not accepted it yet. Use another tool, or tell the user."
}

// Is reports whether target is [ErrNotAccepted].
func (e *NotAcceptedError) Is(target error) bool { return target == ErrNotAccepted }

// NotSent reports that the call did not leave.
func (e *NotAcceptedError) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (e *NotAcceptedError) Permanent() bool { return true }
