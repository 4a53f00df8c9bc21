package catalog

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
)

// Trust believes what a server declares of its tools, now and after a refresh.
// Without it a server's word can only raise the class of a tool. The server may
// be added later.
func (c *Catalog) Trust(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.server(id)
	entry.trusted = true
	entry.forget(func(string) bool { return true })
	c.rebuild(context.Background())
}

// Trusted reports whether what a server declares is believed.
func (c *Catalog) Trusted(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[id]
	return s != nil && s.believed()
}

func (s *server) believed() bool { return s.trusted || s.own }

// Override is the host's word on one tool; it wins over everything else. What a
// leaves unset stays as it is. An error means that a contradicts itself, and
// nothing has changed.
func (c *Catalog) Override(id, tool string, a annotation.Annotations) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("catalog: the override of %s/%s: %w", id, tool, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.server(id)
	overrides := maps.Clone(s.overrides)
	if overrides == nil {
		overrides = make(map[string]annotation.Annotations)
	}
	overrides[tool] = a
	s.overrides = overrides
	s.forget(func(name string) bool { return name == tool })
	c.rebuild(context.Background())
	return nil
}

// OverrideMatching is the host's word on every tool whose "server/tool" matches
// the pattern, in the form of [path.Match], now and after a refresh: "github/*",
// "*/list_*". It returns what it matches now, so that a pattern that is wider than
// meant shows itself. It raises freely, but lowers only what inference does not
// call dangerous: for that, name the one tool with [Catalog.Override], which also
// wins over any pattern. Of two patterns the later call wins.
func (c *Catalog) OverrideMatching(pattern string, a annotation.Annotations) (matched []string, err error) {
	if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, "/") != 1 {
		return nil, fmt.Errorf(`catalog: %q is no pattern for tools; write "server/tool", with * for any part of either`, pattern)
	}
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("catalog: the override of %s: %w", pattern, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := rule{pattern: pattern, word: a.Attribute(annotation.Rule, pattern)}
	c.rules = append(slices.Clip(c.rules), r)
	for id, s := range c.servers {
		s.forget(func(name string) bool { return r.matches(id, name) })
	}
	c.rebuild(context.Background())
	for _, t := range c.current.Load().known() {
		if r.matches(t.Server, t.Name()) {
			matched = append(matched, t.String())
		}
	}
	return matched, nil
}

// A rule is the host's word on the tools that match a pattern.
type rule struct {
	pattern string
	word    annotation.Annotations
}

func (r rule) matches(server, tool string) bool {
	ok, err := path.Match(r.pattern, server+"/"+tool)
	return ok && err == nil
}

// forget has the tools of these names worked out again.
func (s *server) forget(names func(string) bool) {
	for _, d := range s.definitions {
		if names(d.tool.Name()) {
			d.shown = nil
		}
	}
}
