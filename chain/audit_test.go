package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/budget"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call that must be recorded is refused without a working trail, and Verify reports it: of what
// is missing when it reads, of what does not work when it drives.
func TestVerifyNamesATrailThatRecordsNothing(t *testing.T) {
	t.Parallel()
	works := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	other := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return nil }), audit.Options{})
	fails := audit.New(audit.SinkFunc(func(context.Context, audit.Record) error { return errors.New("the disk is full") }), audit.Options{})
	changes := around(func(ctx context.Context, call middleware.Call, next middleware.ToolCaller) (*mcp.CallToolResult, error) {
		call.Arguments = json.RawMessage(`{"more":true}`)
		return next.CallTool(ctx, call)
	})
	const notMade = "a call that must be recorded was not made"
	for _, tt := range []struct {
		name         string
		links        func(ask middleware.Middleware) []middleware.Middleware
		read, driven []string
	}{
		{"both", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, chain.Recover(), infer.New(infer.Options{}), budget.New(budget.Options{}), ask, works.Intent, cache.New(cache.Options{})}
		}, nil, nil},
		{"no intent", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, ask}
		},
			[]string{"record is in the chain without intent: a call leaves no trace if the process ends in its middle"}, []string{notMade}},
		{"no record", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{ask, works.Intent}
		},
			[]string{"intent is in the chain without record: the end of what was begun is never recorded"}, nil},
		{"of two trails", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, ask, other.Intent}
		},
			nil, []string{notMade}},
		{"a sink that fails", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{fails.Record, ask, fails.Intent}
		},
			nil, []string{notMade}},
		{"other arguments further in", func(ask middleware.Middleware) []middleware.Middleware {
			return []middleware.Middleware{works.Record, works.Intent, changes}
		},
			nil, []string{notMade}},
		{"nothing that records", func(ask middleware.Middleware) []middleware.Middleware { return []middleware.Middleware{ask} }, nil, nil},
	} {
		d := new(double)
		c := chain.New(tt.links(hitl.New(d, hitl.Options{}))...)
		wantProblems(t, tt.name+", read", chain.Verify(c), tt.read)
		wantProblems(t, tt.name+", driven", drive(c, d.doubles()), append(tt.read, tt.driven...))
	}
}
