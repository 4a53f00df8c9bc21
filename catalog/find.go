package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
)

// ErrAmbiguous is in the tree of every error about a name that several tools have.
var ErrAmbiguous = errors.New("catalog: ambiguous name")

// An AmbiguousError says that a name without its server is that of several tools.
type AmbiguousError struct {
	Name  string
	Tools []*middleware.Tool
}

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Tools))
	for i, t := range e.Tools {
		names[i] = t.String()
	}
	return fmt.Sprintf("catalog: %q is a tool of several servers: write %s", e.Name, strings.Join(names, " or "))
}

// ForModel tells the model which names to choose from.
func (e *AmbiguousError) ForModel() string {
	names := make([]string, len(e.Tools))
	for i, tool := range e.Tools {
		names[i] = tool.ModelName()
	}
	return "Several tools have that name. Nothing was called. Call one of them by its full name: " + strings.Join(names, ", ") + "."
}

// Is reports whether target is [ErrAmbiguous].
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// NotSent reports that nothing was called.
func (e *AmbiguousError) NotSent() bool { return true }

// Permanent reports that the same name stays ambiguous.
func (e *AmbiguousError) Permanent() bool { return true }

// Find returns the tool that a person means: "server/tool", the name by which a
// model knows it, or the tool's own name where one server alone has it. A name with two
// underscores in a row is never a tool's own: it tells a server, and where that has no
// such tool, no other server's is found. The error is an [*AmbiguousError] or an
// [*UnknownToolError].
func (c *Catalog) Find(name string) (*middleware.Tool, error) { return find(c, name) }

// Find is [Catalog.Find] among what the caller may use.
func (v *View) Find(name string) (*middleware.Tool, error) { return find(v, name) }

// A finder is a catalogue or a view of one.
type finder interface {
	List() []*middleware.Tool
	Lookup(server, tool string) (*middleware.Tool, bool)
	LookupModelName(model string) (*middleware.Tool, bool)
}

func find(in finder, name string) (*middleware.Tool, error) {
	server, tool, qualified := strings.Cut(name, "/")
	if qualified {
		if t, ok := in.Lookup(server, tool); ok {
			return t, nil
		}
	}
	if t, ok := in.LookupModelName(name); ok {
		return t, nil
	}
	if qualified {
		return nil, &UnknownToolError{Server: server, Tool: tool}
	}
	var same []*middleware.Tool
	if !strings.Contains(name, "__") {
		same = slices.DeleteFunc(in.List(), func(t *middleware.Tool) bool { return t.Name() != name })
	}
	switch len(same) {
	case 0:
		return nil, &UnknownToolError{Tool: name}
	case 1:
		return same[0], nil
	}
	return nil, &AmbiguousError{Name: name, Tools: same}
}
