package proxy

import (
	"context"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callerOf returns who makes a call: the user, the client and its actors by the token that the session was opened with, and
// the program by what it states.
func callerOf(ctx context.Context, call middleware.Call) audit.Caller {
	s := underWayIn(ctx).session
	if s == nil {
		return audit.Caller{} // one that the approvals page takes back
	}
	info := call.Meta[mcp.MetaKeyClientInfo]
	if info == nil {
		info = s.client.meta(s.version.value())[mcp.MetaKeyClientInfo]
	}
	about, _ := info.(map[string]any)
	agent, _ := about["name"].(string)
	if version, _ := about["version"].(string); version != "" && agent != "" {
		agent += " " + version
	}
	return audit.Caller{User: s.caller.User, Client: s.caller.Client, Actors: s.caller.Actors, Agent: agent}
}
