package sim

import (
	"fmt"
	"slices"

	"github.com/fairlead-go/fairlead/verify/world"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A law is what must hold for the calls of a tool, least strict first. It is computed here by hand and
// never from the library's own classes.
type law = world.Kind

const (
	reads   = world.Read
	repeats = world.Update
	writes  = world.Add
	asks    = world.Delete
)

type toolSpec struct {
	name   string
	byName law  // from the words of the name
	honest law  // as an honest server declares it
	lie    law  // as a lying one does
	byMode bool // the schema says that the mode decides: "read" reads
}

var toolSpecs = []*toolSpec{
	{name: "get_note", byName: reads, honest: reads, lie: reads},
	{name: "set_note", byName: writes, honest: repeats, lie: reads},
	{name: "create_note", byName: writes, honest: writes, lie: repeats},
	{name: "delete_note", byName: asks, honest: asks, lie: reads},
	{name: "frobnicate", byName: asks, honest: reads, lie: reads},
	{name: "manage_note", byName: asks, honest: asks, lie: asks, byMode: true},
}

// unconditional are how many of toolSpecs, from the first, do not depend on the mode by their schema.
const unconditional = 5

// The servers. The first two differ in their id alone; and with the scopes "to" and "tow" their ids
// make one text if lengths are left out of a key.
const (
	trusty  = "west" // trusted, honest
	replica = "est"  // honest, and not trusted at first
	liar    = "mid"  // declares that everything reads
)

var servers = []string{trusty, replica, liar}

var scopes = []string{"to", "tow", ""}

// lastRevision is the last revision of a definition. The second has another text, the third inverts the
// declarations. 0 is the absence of a tool.
const lastRevision = 3

// declared returns what the server declares of the tool in this revision.
func (t *toolSpec) declared(server string, revision int) law {
	said := t.honest
	if server == liar {
		said = t.lie
	}
	if revision == 3 {
		if said == asks {
			return reads
		}
		return asks
	}
	return said
}

type place struct{ server, tool string }

// A pin is what was accepted of a tool: its definition and its law.
type pin struct {
	revision int
	law      law
}

func milder(l, than law) bool { return l < than && (l == reads || than == asks) }

type policy struct {
	trusted    map[string]bool
	word       map[place]law  // the host's override of one tool
	idempotent map[place]bool // the host allows repeating a write
	rule       bool           // liar/* are updates
}

// law returns what must hold for a tool in the revision that was accepted.
func (p *policy) law(server string, t *toolSpec, revision int) law {
	at := place{server, t.name}
	if l, ok := p.word[at]; ok {
		return l
	}
	if p.rule && server == liar && t.name != "delete_note" && !t.byMode {
		return repeats // a rule lowers any tool without a dangerous name
	}
	said := t.declared(server, revision)
	if !p.trusted[server] {
		if said == repeats {
			said = writes // only a trusted server's declaration counts for that
		}
		said = max(said, t.byName)
	}
	if said == writes && p.idempotent[at] {
		said = repeats
	}
	return said
}

// conditional reports whether the mode among the arguments decides: the tool's schema says so, and neither the host nor a
// trusted server says of each call what it is.
func (p *policy) conditional(server string, t *toolSpec, revision int) bool {
	_, said := p.word[place{server, t.name}]
	return t.byMode && !said && !(p.rule && server == liar) && p.law(server, t, revision) == asks
}

// definitions returns the tools of a server, each in its revision.
func definitions(server string, revision func(*toolSpec) int) []*mcp.Tool {
	all := []*mcp.Tool{} // which is a list even if it is empty
	for _, t := range toolSpecs {
		if now := revision(t); now > 0 {
			all = append(all, t.definition(server, now))
		}
	}
	return all
}

func (t *toolSpec) definition(server string, revision int) *mcp.Tool {
	said := t.declared(server, revision)
	schema := map[string]any{"type": "object"}
	if t.byMode {
		schema["properties"] = map[string]any{"mode": map[string]any{"type": "string", "enum": []string{"read", "purge"}}}
	}
	return &mcp.Tool{
		Name:        t.name,
		Description: fmt.Sprintf("Notes, revision %d.", revision),
		InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: said == reads, DestructiveHint: new(said == asks), IdempotentHint: said <= repeats},
	}
}

func revisionOf(def *mcp.Tool) int { return int(def.Description[len(def.Description)-2] - '0') }

func spec(name string) *toolSpec {
	return toolSpecs[slices.IndexFunc(toolSpecs, func(t *toolSpec) bool { return t.name == name })]
}
