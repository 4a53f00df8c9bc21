// Package mount joins the MCP Go SDK and a chain. [Connect] gives a catalog the tools of a server. For code that already
// holds sessions, [Client] puts a chain beneath a whole client, and [Session] in front of one session without a catalog.
// Package serve does the same for a server.
package mount

import (
	"context"
	"fmt"

	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/guard"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Caller is a session that calls the tools of one server; *mcp.ClientSession is one. It must be safe for concurrent
// use.
type Caller interface {
	// CallTool calls a tool. The params are the session's own: it may change them.
	CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// Session returns the guarded end of a chain for a host without a catalog: it calls tools on the session. A
// tool has the class that infer.New gave it further out, else Unknown. Errors report whether the call was sent.
func Session(s Caller) middleware.ToolCaller {
	if cs, ok := s.(*mcp.ClientSession); s == nil || ok && cs == nil {
		panic("mount: Session was given a nil session")
	}
	return guard.Classified(session.Executor(s))
}

// refuse returns the error of a call that was not sent and would fail again.
func refuse(format string, args ...any) error {
	return fault.Unsendable(fmt.Errorf("mount: "+format, args...))
}
