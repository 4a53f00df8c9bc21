package hook

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
)

// hosted returns the server and the tool of an event, see [event.hosted]: an MCP tool with the definition that was
// accepted, if the lock has its server. The agent does not hand over the one that it has now, so a server that is to be
// held to its definitions has to be behind the proxy.
func (g *Guard) hosted(e *event) (server string, tool proxy.Hosted, err error) {
	server, tool = e.hosted()
	if _, _, ok := e.server(); !ok || g.o.Lock == nil {
		return server, tool, nil
	}
	lock, err := g.o.Lock()
	if err != nil {
		return "", proxy.Hosted{}, fmt.Errorf("the accepted tools cannot be read: %w", err)
	}
	if lock == nil {
		return server, tool, nil
	}
	return e.accepted(lock, server, tool)
}

// accepted returns the server and the tool of an event as a lock has them. Agents change what is not a letter, a digit or
// a mark in the names of both, so that two tools may have the name of an event: then, and if the lock has the server
// without the tool, its calls ask.
func (e *event) accepted(lock *pins.Lock, server string, tool proxy.Hosted) (string, proxy.Hosted, error) {
	named := "mcp__" + asNamed(server) + "__" + asNamed(tool.Definition.Name)
	var its, found int
	for _, s := range lock.Servers() {
		prefix := "mcp__" + asNamed(s) + "__"
		if !strings.HasPrefix(named, prefix) {
			continue
		}
		its++
		for _, name := range lock.Accepted(s) {
			if named != prefix+asNamed(name) {
				continue
			}
			if found++; found == 1 {
				server = s
				tool.Definition, tool.Lock = lock.Definition(s, name), lock
			}
		}
	}
	if its == 0 || found == 1 && tool.Definition != nil {
		return server, tool, nil
	}
	server, tool = e.hosted()
	tool.Definition.Description = "A tool that was not accepted into the lock file, which has its server."
	tool.Annotations = annotation.Annotations{RequiresConfirmation: annotation.Yes}
	return server, tool, nil
}

// asNamed returns the name of a server or a tool as agents write it in the names of MCP tools.
func asNamed(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}
