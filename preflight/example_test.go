package preflight_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// issues is a tool that reads, writes and deletes.
func issues() *middleware.Tool {
	tool, err := middleware.NewTool("github", &mcp.Tool{Name: "issue_write"}, annotation.Destructive().Attribute(annotation.Declared, "github"))
	if err != nil {
		panic(err)
	}
	return tool
}

func ExampleNew() {
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{
		"github/issue_write": preflight.When("method", "get", "list").Safe(),
	}})
	caller := judge(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Println(string(call.Arguments), "is", call.Tool.Safety())
		return &mcp.CallToolResult{}, nil
	}))
	for _, arguments := range []string{`{"method":"get"}`, `{"method":"GET"}`, `{"Method":"get"}`, `{}`} {
		if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: issues(), Arguments: json.RawMessage(arguments)}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// {"method":"get"} is safe
	// {"method":"GET"} is dangerous
	// {"Method":"get"} is dangerous
	// {} is dangerous
}

func ExampleNew_explained() {
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{
		"github/issue_write": preflight.Strictest(
			preflight.When("method", "get", "list").Safe(),
			preflight.When("method", "comment").Moderate(),
			preflight.When("force", true).Dangerous(),
		),
	}})
	caller := judge(middleware.ToolCallerFunc(func(_ context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		fmt.Print(call.Tool.Explain())
		return &mcp.CallToolResult{}, nil
	}))
	for _, arguments := range []string{`{"method":"comment"}`, `{"method":"list","force":true}`} {
		if _, err := caller.CallTool(context.Background(), middleware.Call{Tool: issues(), Arguments: json.RawMessage(arguments)}); err != nil {
			panic(err)
		}
	}
	// Output:
	// github/issue_write: moderate
	//   read-only     no    host rule: "method is comment" among the arguments
	//   destructive   no    host rule: "method is comment" among the arguments
	//   idempotent    no    host rule: "method is comment" among the arguments
	// github/issue_write: dangerous
	//   read-only     no    host rule: "force is true" among the arguments
	//   destructive   yes   host rule: "force is true" among the arguments
	//   idempotent    no    host rule: "force is true" among the arguments
}

// class returns the class that a rule gives a tool that may delete.
func class(rule preflight.Rule, arguments string) annotation.Safety {
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{"github/issue_write": rule}})
	tool, err := classify(context.Background(), judge, middleware.Call{Tool: issues(), Arguments: json.RawMessage(arguments)})
	if err != nil {
		panic(err)
	}
	return tool.Safety()
}

func ExampleWhen() {
	rule := preflight.When("method", "sync").And("dry_run", true).Safe()
	fmt.Println(class(rule, `{"method":"sync","dry_run":true}`))
	fmt.Println(class(rule, `{"method":"sync","dry_run":"true"}`)) // a server may take this text for anything
	// Output:
	// safe
	// dangerous
}

func ExamplePresent() {
	rule := preflight.Present("filename").Dangerous()
	fmt.Println(class(rule, `{"filename":"notes.txt"}`))
	// Output: dangerous
}

func ExampleStrictest() {
	rule := preflight.Strictest(
		preflight.When("method", "get").Safe(),
		preflight.When("notify", true).Moderate(),
	)
	fmt.Println(class(rule, `{"method":"get"}`))
	fmt.Println(class(rule, `{"method":"get","notify":true}`))
	// Output:
	// safe
	// moderate
}

func ExampleArgument() {
	selects := func(text string) preflight.Verdict {
		if text == "SELECT 1" {
			return preflight.Verdict{Annotations: annotation.ReadOnly(), Why: "SELECT"}
		}
		return preflight.Verdict{Why: "cannot be read with certainty"} // and so it asks
	}
	judge := preflight.New(preflight.Options{Rules: preflight.Rules{"github/issue_write": preflight.Argument("sql", selects)}})
	for _, arguments := range []string{`{"sql":"SELECT 1"}`, `{"sql":"DROP TABLE issues"}`} {
		tool, _ := classify(context.Background(), judge, middleware.Call{Tool: issues(), Arguments: json.RawMessage(arguments)})
		fmt.Println(tool.Safety())
	}
	// Output:
	// safe
	// dangerous
}
