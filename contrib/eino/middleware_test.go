package eino_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/chain/batch"
	"github.com/fairlead-go/fairlead/chain/batch/batchtest"
	fairlead "github.com/fairlead-go/fairlead/contrib/eino"
	"github.com/fairlead-go/fairlead/middleware"
)

// Tools that Eino has already are behind the chain as others are, in each of their forms.
func TestMiddlewareGuardsTheToolsThatThereAre(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{false, true} {
		desk, ran := batchtest.New(t), []string(nil)
		desk.Yes = yes
		tools := []tool.BaseTool{own{&ran}, streaming{own{&ran}}}
		guard, err := fairlead.Middleware(t.Context(), desk.Tools, "pages", func(next middleware.ToolCaller) middleware.ToolCaller { return desk.Caller }, batch.HostOptions{}, tools...)
		if err != nil {
			t.Fatal(err)
		}
		if deletes, _ := desk.Tools.Lookup("pages", "delete_page"); !strings.Contains(fmt.Sprint(deletes.Definition.InputSchema), "id") {
			t.Errorf("the schema is %v", deletes.Definition.InputSchema)
		}
		told := talk(t, &compose.ToolsNodeConfig{Tools: tools, ToolCallMiddlewares: []compose.ToolMiddleware{guard}, ExecuteSequentially: true},
			call{"a", "delete_page", `{"id":"1"}`}, call{"b", "list_pages", `{}`})
		want := "The user said no"
		if yes {
			want = "deleted"
		}
		if asked := desk.Asked(); !strings.Contains(told["a"].Content, want) || told["b"].Content != "one, two" || len(asked) != 1 || asked[0].CallID != "a" {
			t.Errorf("yes %v: results %v, asked %v", yes, told, asked)
		}
		if executed := len(ran); executed != map[bool]int{false: 1, true: 2}[yes] {
			t.Errorf("yes %v: ran %v", yes, ran)
		}
	}
}

func TestMiddlewareRefusesOtherTools(t *testing.T) {
	t.Parallel()
	tools, ran := catalog.New(catalog.Options{}), []string(nil)
	t.Cleanup(func() { _ = tools.Close() })
	guard, err := fairlead.Middleware(t.Context(), tools, "pages", chain.Standard{}.Then, batch.HostOptions{}, own{&ran})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := guard.Invokable(func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
		t.Error("it was called")
		return &compose.ToolOutput{}, nil
	})
	if out, err := endpoint(t.Context(), &compose.ToolInput{Name: "other", Arguments: "{}"}); err != nil || !strings.Contains(out.Result, "There is no such tool") {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := guard.EnhancedInvokable(nil)(t.Context(), &compose.ToolInput{}); err == nil {
		t.Error("an answer in parts bypassed the chain")
	}
	if _, err := guard.EnhancedStreamable(nil)(t.Context(), &compose.ToolInput{}); err == nil {
		t.Error("an answer in parts bypassed the chain")
	}
	if _, err := fairlead.Middleware(t.Context(), tools, "pages", chain.Standard{}.Then, batch.HostOptions{}, own{&ran}); err == nil {
		t.Error("an id was given twice")
	}
	reads, _ := tools.Lookup("pages", "delete_page")
	if _, err := tools.CallTool(t.Context(), middleware.Call{Tool: reads}); err == nil || len(ran) > 0 {
		t.Errorf("called past its node: %v", err)
	}
}

// A pausing tool asks its user for something by interrupting the graph at its first run.
type pausing struct{ runs *int }

func (pausing) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "list_rooms", Desc: "Lists the rooms."}, nil
}

func (p pausing) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if *p.runs++; *p.runs == 1 {
		return "", compose.Interrupt(ctx, "which floor?")
	}
	return "room 7", nil
}

// The interrupt of a tool is the framework's: it pauses the graph, is not repeated, and the tool runs when it goes on.
func TestInterruptOfAToolPausesTheGraph(t *testing.T) {
	t.Parallel()
	for _, deprecated := range []bool{false, true} {
		tools, runs := catalog.New(catalog.Options{}), 0
		t.Cleanup(func() { _ = tools.Close() })
		own := pausing{&runs}
		guard, err := fairlead.Middleware(t.Context(), tools, "rooms", chain.Standard{}.Then, batch.HostOptions{}, own)
		if err != nil {
			t.Fatal(err)
		}
		middlewares := []compose.ToolMiddleware{guard}
		if deprecated {
			middlewares = append(middlewares, compose.ToolMiddleware{Invokable: func(compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
				return func(context.Context, *compose.ToolInput) (*compose.ToolOutput, error) {
					runs++
					return nil, compose.InterruptAndRerun //nolint:staticcheck // graphs that use it are there
				}
			}})
		}
		node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: []tool.BaseTool{own}, ToolCallMiddlewares: middlewares})
		if err != nil {
			t.Fatal(err)
		}
		graph := compose.NewGraph[*schema.Message, []*schema.Message]()
		if err := errors.Join(graph.AddToolsNode("tools", node), graph.AddEdge(compose.START, "tools"), graph.AddEdge("tools", compose.END)); err != nil {
			t.Fatal(err)
		}
		run, err := graph.Compile(t.Context(), compose.WithCheckPointStore(checkpoints{}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = run.Invoke(t.Context(), assistant([]call{{"a", "list_rooms", `{}`}}), compose.WithCheckPointID("1"))
		info, paused := compose.ExtractInterruptInfo(err)
		if !paused || runs != 1 {
			t.Fatalf("deprecated %v: got %v after %d runs, want a graph that is paused by the first", deprecated, err, runs)
		}
		if deprecated {
			continue
		}
		ctx := compose.Resume(t.Context(), info.InterruptContexts[0].ID)
		out, err := run.Invoke(ctx, nil, compose.WithCheckPointID("1"))
		if err != nil || len(out) != 1 || out[0].Content != "room 7" || runs != 2 {
			t.Errorf("it goes on with %v, %v after %d runs", out, err, runs)
		}
	}
}

// checkpoints keep where a graph was paused.
type checkpoints map[string][]byte

func (c checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	kept, ok := c[id]
	return kept, ok, nil
}

func (c checkpoints) Set(_ context.Context, id string, kept []byte) error {
	c[id] = kept
	return nil
}

// A tool that Eino has already gets numbers as the model wrote them.
func TestMiddlewareKeepsDigits(t *testing.T) {
	t.Parallel()
	desk, ran := batchtest.New(t), []string(nil)
	desk.Yes = true
	tools := []tool.BaseTool{own{&ran}}
	guard, err := fairlead.Middleware(t.Context(), desk.Tools, "pages", func(middleware.ToolCaller) middleware.ToolCaller { return desk.Caller }, batch.HostOptions{}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	for i, number := range longDigits {
		input := `{"id":"1","n":` + number + `}`
		talk(t, &compose.ToolsNodeConfig{Tools: tools, ToolCallMiddlewares: []compose.ToolMiddleware{guard}}, call{"a", "delete_page", input})
		if len(ran) != i+1 || ran[i] != input {
			t.Errorf("%s: ran %q", number, ran)
		}
	}
}
