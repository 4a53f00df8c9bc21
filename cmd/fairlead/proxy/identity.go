package proxy

import (
	"context"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// approvalsPage is the agent of a call that a person has made to take another one back.
const approvalsPage = "the approvals page"

// callerOf returns who makes a call: the user, the client and its actors by the token that the session was opened with, and
// the program by what it states. Of a call that takes another one back that is the person who pressed the button.
func callerOf(ctx context.Context, call middleware.Call) audit.Caller {
	if page := asking(ctx, call); page != "" {
		return audit.Caller{User: callIn(ctx).person, Agent: page}
	}
	s := underWayIn(ctx).session
	if s == nil {
		return audit.Caller{}
	}
	agent := s.client.called()
	if info := call.Meta[mcp.MetaKeyClientInfo]; info != nil {
		agent = agentOf(info)
	}
	return audit.Caller{User: s.caller.User, Client: s.caller.Client, Actors: s.caller.Actors, Agent: agent}
}

// behalf returns on whose behalf a call is made, by the token alone: what a client calls itself is not verified.
func behalf(ctx context.Context, call middleware.Call) hitl.Caller {
	c := callerOf(ctx, call)
	return hitl.Caller{User: c.User, Client: c.Client, Actors: c.Actors}
}

// asking returns what asks for a call that takes another one back, "" for a client's call.
func asking(ctx context.Context, _ middleware.Call) string {
	if c := callIn(ctx); c != nil && c.undoes != "" {
		return approvalsPage
	}
	return ""
}

// agentOf returns what a client calls itself, by its description of itself.
func agentOf(info any) string {
	about, _ := info.(map[string]any)
	agent, _ := about["name"].(string)
	if version, _ := about["version"].(string); version != "" && agent != "" {
		agent += " " + version
	}
	return agent
}
