package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/fairlead-go/fairlead/retry"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is a session with tools of its own, which notes what it executes.
type server struct {
	tools []*mcp.Tool
	mu    sync.Mutex
	ran   []string
}

func (s *server) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: s.tools}, nil
}

func (s *server) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, string(p.Arguments.(json.RawMessage)))
	return answer, nil
}

// An idempotent write is a write: what it wrote may have been written over since.
func TestIdempotentWriteIsExecutedEachTime(t *testing.T) {
	t.Parallel()
	t.Run("B093: set(A), set(B), set(A)", func(t *testing.T) {
		t.Parallel()
		s := &server{tools: []*mcp.Tool{{
			Name: "set_color", InputSchema: map[string]any{"type": "object"},
			Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(false)},
		}}}
		tools := catalog.New(catalog.Options{})
		tools.Trust("lamp")
		if err := tools.Add(t.Context(), "lamp", s); err != nil {
			t.Fatal(err)
		}
		its, _ := tools.Lookup("lamp", "set_color")
		if its.Safety() != annotation.Moderate || !its.Annotations.SafeToRetry() {
			t.Fatalf("the tool is %s", its.Explain())
		}
		c := whole(nil).Then(tools)
		want := []string{`{"to":"A"}`, `{"to":"B"}`, `{"to":"A"}`}
		for _, arguments := range want {
			if _, err := c.CallTool(t.Context(), middleware.Call{Tool: its, Arguments: json.RawMessage(arguments)}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(s.ran, want) {
			t.Errorf("executed %q, want %q", s.ran, want)
		}
	})
}

// A host that ends gives up the context of its calls. Wherever they wait, they
// return at once, what was asked for comes to nothing, and no goroutine is left:
// the bubble would not end.
func TestCallsReturnWhereverTheyWaitWhenTheHostEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		chain func(person hitl.Confirmer) chain.Standard
		tool  string
		does  func(ctx context.Context) (*mcp.CallToolResult, error)
	}{
		{"B309: for approval", func(person hitl.Confirmer) chain.Standard {
			return chain.Standard{Infer: infer.New(infer.Options{}), Confirm: hitl.New(person, hitl.Options{})}
		}, "delete_file", nil},
		{"B309: for the rate limit", func(hitl.Confirmer) chain.Standard {
			return chain.Standard{Infer: infer.New(infer.Options{}), RateLimit: ratelimit.New(ratelimit.Options{PerMinute: 1, MaxWait: time.Hour})}
		}, "create_note", nil},
		{"B309: for the next attempt", func(hitl.Confirmer) chain.Standard {
			return chain.Standard{Infer: infer.New(infer.Options{}), Retry: retry.New(retry.Options{
				First: time.Hour, Max: time.Hour, Rand: func() float64 { return 0.9 }})}
		}, "list_files", func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("lost") }},
		{"B309: for the server", func(hitl.Confirmer) chain.Standard { return whole(approves) }, "list_files",
			func(ctx context.Context) (*mcp.CallToolResult, error) { <-ctx.Done(); return nil, ctx.Err() }},
		{"B309: for the server, after an approval", func(hitl.Confirmer) chain.Standard { return whole(approves) }, "delete_file",
			func(ctx context.Context) (*mcp.CallToolResult, error) { <-ctx.Done(); return nil, ctx.Err() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ended := errors.New("the host ends")
				ctx, end := context.WithCancelCause(t.Context())
				executed := 0
				late := hitl.ConfirmerFunc(func(ctx context.Context, _ hitl.Request) (hitl.Decision, error) {
					<-ctx.Done()
					return hitl.Decision{Verdict: hitl.Approved}, nil
				})
				c := tt.chain(late).Then(chain.Guard(middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
					executed++
					if tt.does != nil {
						return tt.does(ctx)
					}
					return answer, nil
				})))
				its := middleware.Call{Tool: definition(t, tt.tool)}
				if strings.Contains(tt.name, "rate") {
					_, _ = c.CallTool(ctx, its) // takes the one place of this minute
				}
				returned := make(chan error, 1)
				go func() {
					_, err := c.CallTool(ctx, its)
					returned <- err
				}()
				synctest.Wait()
				before, began := executed, time.Now()
				end(ended)
				if err := <-returned; !errors.Is(err, ended) && !errors.Is(err, context.Canceled) {
					t.Errorf("got error %v, want one with the reason", err)
				}
				synctest.Wait()
				if took := time.Since(began); took != 0 || executed != before {
					t.Errorf("it took %v, and %d more were executed", took, executed-before)
				}
			})
		})
	}
}
