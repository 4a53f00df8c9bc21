package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/catalog/finding"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/schema"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxWatched is how many tools are watched for nulls, and maxNulls how many members of one are named.
const (
	maxWatched = 10_000
	maxNulls   = 5
)

// nulls are what the answers of tools have in place of members whose output schema takes no null. A list of tools does
// not show it, so it is found when a tool is called.
type nulls struct {
	mu      sync.Mutex
	watched map[name]*watch
}

// A watch is what is known of one tool.
type watch struct {
	digest  middleware.Digest
	shape   *schema.Shape // nil if nothing is to be found any more
	finding *finding.Finding
}

// look looks at an answer, and returns a finding the first time that there is one.
func (n *nulls) look(tool *middleware.Tool, res *mcp.CallToolResult) *finding.Finding {
	if res == nil || res.IsError || tool == nil || tool.Definition.OutputSchema == nil || !hasNull(res.StructuredContent) {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	id := name{tool.Server, tool.Name()}
	w := n.watched[id]
	if w == nil || w.digest != tool.Digest {
		if w == nil && len(n.watched) >= maxWatched {
			return nil
		}
		if n.watched == nil {
			n.watched = make(map[name]*watch)
		}
		w = &watch{digest: tool.Digest}
		if contract, err := schema.ReadContract(tool.Definition.OutputSchema); err == nil {
			w.shape = contract.Shape()
		}
		n.watched[id] = w
	}
	raw, err := json.Marshal(res.StructuredContent)
	if w.shape == nil || err != nil {
		return nil
	}
	tree, err := jsontree.Decode(raw)
	if err != nil {
		return nil
	}
	found := make(map[string]bool)
	w.shape.StripNulls(tree, func(path []string) {
		if len(found) < maxNulls {
			found[fmt.Sprintf("%.100q", strings.Join(path, "."))] = true
		}
	})
	if len(found) == 0 {
		return nil
	}
	var members []string
	for member := range found {
		members = append(members, member)
	}
	slices.Sort(members)
	w.shape = nil
	w.finding = &finding.Finding{Server: tool.Server, Tool: tool.Name(), Kind: finding.Null, Text: fmt.Sprintf(
		"its answers have null for %s, and its output schema takes none there; null is read as no member", strings.Join(members, ", "))}
	return w.finding
}

// of returns the findings about tools as they are listed now.
func (n *nulls) of(listed func(name) *middleware.Tool) (all []finding.Finding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, w := range n.watched {
		if tool := listed(id); w.finding != nil && tool != nil && tool.Digest == w.digest {
			all = append(all, *w.finding)
		}
	}
	return all
}

// hasNull reports whether there may be a null in structured content.
func hasNull(content any) bool {
	if raw, ok := content.(json.RawMessage); ok {
		return bytes.Contains(raw, []byte("null"))
	}
	return schema.HasNull(content)
}

// observe notes what an answer shows about its tool.
func (c *Catalog) observe(tool *middleware.Tool, res *mcp.CallToolResult) {
	if f := c.nulls.look(tool, res); f != nil {
		c.log.Warn("catalog: a tool's answer shows something about it", slog.String("kind", string(f.Kind)), slog.String("finding", f.String()))
	}
}
