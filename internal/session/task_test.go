package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A result of the type task is not how the call ended: its outcome is unknown, unless it was
// a read, and it is not made again.
func TestTaskIsNotAResult(t *testing.T) {
	t.Parallel()
	for raw, isTask := range map[string]bool{
		`{"resultType":"task","task":{"taskId":"7","status":"working"}}`: true,
		`{"resultType":"something","content":[]}`:                        true,
		`{"resultType":"complete","content":[]}`:                         false,
		`{"resultType":"input_required","inputRequests":{}}`:             false,
		`{"content":[]}`: false,
		`{"resultType":"complete","structuredContent":{"task":1}}`: false,
	} {
		for _, known := range []annotation.Annotations{annotation.ReadOnly(), annotation.Destructive()} {
			tool, err := middleware.NewTool("srv", mcptest.Tool("act", ""), known)
			if err != nil {
				t.Fatal(err)
			}
			_, err = session.Executor(caller(func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				res := new(mcp.CallToolResult)
				return res, json.Unmarshal([]byte(raw), res)
			})).CallTool(t.Context(), middleware.Call{Tool: tool})
			if (err != nil) != isTask {
				t.Errorf("%s: got %v", raw, err)
			}
			if !isTask {
				continue
			}
			unknown := new(middleware.OutcomeUnknownError)
			if errors.As(err, &unknown) != (tool.Safety() != annotation.Safe) || !middleware.Permanent(err) || middleware.NotSent(err) {
				t.Errorf("%s of a %s tool: got %#v", raw, tool.Safety(), err)
			}
			if told := middleware.ForModel(err); !strings.Contains(told, "srv__act has begun and has not ended") {
				t.Errorf("%s: the model reads %q", raw, told)
			}
		}
	}
}
