package display_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A host that can look up what a call changes shows the difference, on the terminal, the page and the form alike.
func ExampleOf() {
	prices := map[string]string{"tea": "base: 3.20 EUR\ntax: 7 %"}
	options := hitl.Options{Changes: func(_ context.Context, call middleware.Call) []hitl.Change {
		var given struct{ Article, Price string }
		if call.Tool.Name() != "set_price" || json.Unmarshal(call.Arguments, &given) != nil {
			return nil
		}
		return []hitl.Change{{Name: "price of " + given.Article, Before: prices[given.Article], After: given.Price}}
	}}
	ask := hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
		q := display.Of(r)
		fmt.Println(q.Sentence)
		for _, p := range q.Parts {
			fmt.Println(p.Group, p.Name)
			for _, row := range p.Rows(60) {
				fmt.Println("  " + row)
			}
		}
		return hitl.Decision{}, nil
	})
	shop := middleware.ToolCallerFunc(func(context.Context, middleware.Call) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil })
	tool, err := middleware.NewTool("shop", &mcp.Tool{Name: "set_price"}, annotation.Destructive())
	if err != nil {
		panic(err)
	}
	call := middleware.Call{Tool: tool, Arguments: json.RawMessage(`{"article":"tea","price":"base: 320 EUR\ntax: 7 %"}`)}
	if _, err := hitl.New(ask, options)(shop).CallTool(context.Background(), call); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Set price of shop: article tea, price "base: 320 EUR\ntax: 7 %"
	// What changes "price of tea"
	//   - base: 3.20 EUR
	//   + base: 320 EUR
	//     tax: 7 %
	// Arguments article
	//   "tea"
	// hitl: shop/set_price was denied by the user
}
