package mount_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/fairlead-go/fairlead/middleware"
)

var (
	unsaid      annotation.Annotations
	readOnly    = annotation.ReadOnly()
	destructive = annotation.Destructive()
)

// unclassed is a tool of which nobody has said anything.
func unclassed(t testing.TB, server, name string) *middleware.Tool {
	t.Helper()
	tool, err := middleware.NewTool(server, mcptest.Tool(name, ""), unsaid)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// classed gives a class to tools in front of a session.
func classed(next middleware.ToolCaller) middleware.ToolCaller {
	return infer.New(infer.Options{})(next)
}
