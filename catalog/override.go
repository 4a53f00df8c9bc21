package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/internal/layers"
)

// Trust makes a server's declarations count, now and later; without it they can only raise the class of a tool.
func (c *Catalog) Trust(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.server(id)
	entry.trusted = true
	entry.forget(func(string) bool { return true })
	c.rebuild(context.Background())
}

// Trusted reports whether what a server declares counts.
func (c *Catalog) Trusted(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[id]
	return s != nil && s.believed()
}

func (s *server) believed() bool { return s.trusted || s.own }

// Override sets annotations for one tool, which win over all others. After an error (a contradiction) nothing changed.
func (c *Catalog) Override(id, tool string, a annotation.Annotations) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("catalog: the override of %s/%s: %w", id, tool, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.server(id)
	if s.overrides = maps.Clone(s.overrides); s.overrides == nil {
		s.overrides = make(map[string]annotation.Annotations)
	}
	s.overrides[tool] = a.Attribute(annotation.Host, "")
	s.forget(func(name string) bool { return name == tool })
	c.rebuild(context.Background())
	return nil
}

// OverrideMatching sets annotations for every tool whose "server/tool" matches the pattern of [path.Match],
// now and after a refresh: "github/*", "*/list_*". It returns the tools that match now. It raises freely, but
// does not lower a tool that inference calls dangerous: use [Catalog.Override] for that, which also wins over
// any pattern. Of two patterns the later call wins.
func (c *Catalog) OverrideMatching(pattern string, a annotation.Annotations) (matched []string, err error) {
	r, err := layers.NewRule(pattern, a)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rules = append(slices.Clip(c.rules), r)
	for id, s := range c.servers {
		s.forget(func(name string) bool { return r.Matches(id, name) })
	}
	c.rebuild(context.Background())
	for _, t := range c.current.Load().known() {
		if r.Matches(t.Server, t.Name()) {
			matched = append(matched, t.String())
		}
	}
	slices.Sort(matched)
	return matched, nil
}

// forget makes the catalog compute the tools of these names again.
func (s *server) forget(names func(string) bool) {
	for _, d := range s.definitions {
		if names(d.Tool.Name()) {
			d.shown = nil
		}
	}
}
