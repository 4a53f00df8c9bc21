package hook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hosted returns the server and the tool of an event, see [event.hosted]: an MCP tool with the definition that was
// accepted, if the lock has its server. The agent does not hand over the one that it has now, so a server that is to be
// held to its definitions has to be behind the proxy.
func (g *Guard) hosted(e *event) (server string, tool proxy.Hosted, err error) {
	server, tool = e.hosted()
	if _, _, ok := e.server(); !ok {
		return server, tool, nil
	}
	if why := g.doubtful(e); why != "" && slices.Contains(g.o.Proxied, server) {
		return server, unsure(tool, why), nil
	}
	if g.o.Lock == nil {
		return server, tool, nil
	}
	lock, err := g.o.Lock()
	if err != nil {
		return "", proxy.Hosted{}, fmt.Errorf("the accepted tools cannot be read: %w", err)
	}
	if lock == nil {
		return server, tool, nil
	}
	if server, tool = e.accepted(lock, server, tool); tool.Lock == nil { // and is judged by its name, or asks
		return server, tool, nil
	}
	if why := g.doubtful(e); why != "" {
		return server, unsure(tool, why), nil
	}
	return server, tool, nil
}

// doubtful returns why the server of an event may not be the one that its name stands for, "" if it is that one: two
// servers of an agent may have one name, in the user's file and in that of a project.
func (g *Guard) doubtful(e *event) string {
	server, _, ok := e.server()
	if !ok || g.o.Configured == nil {
		return ""
	}
	files, proxied := g.o.Configured(e.client.name, server, e.folder)
	switch of := strings.Join(files, ", "); {
	case len(files) == 0:
		return fmt.Sprintf("No file of %s that is looked at has the server %s.", e.client.title, server)
	case slices.Contains(g.o.Proxied, server) && !proxied:
		return fmt.Sprintf("The server %s is not behind the proxy in each file that has it: %s.", server, of)
	case !slices.Contains(g.o.Proxied, server) && len(files) > 1:
		return fmt.Sprintf("The server %s is in several files, so it may not be the one that was accepted: %s.", server, of)
	}
	return ""
}

// unsure returns a tool of a server that may not be the one that its name stands for.
func unsure(tool proxy.Hosted, why string) proxy.Hosted {
	return proxy.Hosted{
		Definition:  &mcp.Tool{Name: tool.Definition.Name, Description: why, InputSchema: map[string]any{"type": "object"}},
		Annotations: annotation.Annotations{RequiresConfirmation: annotation.Yes},
	}
}

// accepted returns the server and the tool of an event as a lock has them. Agents change what is not a letter, a digit or
// a mark in the names of both, so that two tools may have the name of an event: then, and if the lock has the server
// without the tool, its calls ask.
func (e *event) accepted(lock *pins.Lock, server string, tool proxy.Hosted) (string, proxy.Hosted) {
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
		return server, tool
	}
	server, tool = e.hosted()
	tool.Definition.Description = "A tool that was not accepted into the lock file, which has its server."
	tool.Annotations = annotation.Annotations{RequiresConfirmation: annotation.Yes}
	return server, tool
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
