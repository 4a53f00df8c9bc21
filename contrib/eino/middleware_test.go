package eino_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
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
