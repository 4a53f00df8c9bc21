// Package gofunc makes tools of Go funcs, for catalog.Catalog.AddFuncs. The schema follows from the argument.
package gofunc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Func is a Go func as a tool, made by [New]. It is the executor of the tool as well.
type Func struct {
	middleware.ToolCaller

	tool  *mcp.Tool
	own   annotation.Annotations
	input *jsonschema.Resolved
	err   error // why it cannot be a tool
}

// New makes a tool of a Go func. In is a struct (or a map with string keys), from which the input schema follows:
// names from json tags, descriptions from jsonschema tags. The annotations in own are trusted and win over what the
// tool's words imply; use a preset of package annotation. An override of the catalog wins over them.
//
// Arguments that the schema does not allow never reach f. The result's text is what f returns, as JSON unless
// Out is a string, and it is also the structured content if Out is a struct or a map. A *mcp.CallToolResult
// is the result itself.
//
// An error of f with a text for the model ([middleware.ForModel]; [Failed] makes one) becomes a result that
// reports the failure. Any other is an error in the chain: the model does not see its text, a read may be
// repeated, and of anything else the outcome is unknown. The facts of an error of a call that f itself made,
// such as that it was not sent, do not hold for f.
//
// [Func.Tool] reports what is wrong with a Func.
func New[In, Out any](name, description string, own annotation.Annotations, f func(ctx context.Context, in In) (Out, error)) Func {
	t := Func{tool: &mcp.Tool{Name: name, Description: description}, own: own}
	input, err := jsonschema.For[In](nil)
	switch {
	case f == nil:
		err = errors.New("it has no func")
	case err == nil && input.Type != "object":
		err = fmt.Errorf("its argument is %T; make it a struct", *new(In))
	case err == nil:
		t.input, err = input.Resolve(nil)
	}
	if t.err = err; err != nil {
		return t
	}
	t.tool.InputSchema = input
	output, err := jsonschema.For[Out](nil)
	_, isResult := any(*new(Out)).(*mcp.CallToolResult)
	structured := err == nil && output.Type == "object" && !isResult
	if structured {
		allowNil(output)
		t.tool.OutputSchema = output
	}
	t.ToolCaller = middleware.ToolCallerFunc(func(ctx context.Context, call middleware.Call) (*mcp.CallToolResult, error) {
		var in In
		if err := t.decode(ctx, call, &in); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, fault.GivenUp(ctx)
		}
		out, err := f(ctx, in)
		if err == nil {
			return answer(out, structured)
		}
		text := middleware.ForModel(err)
		if text == "" || middleware.NotSent(err) {
			return nil, fault.Ran(err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}, nil
	})
	return t
}

// Tool returns the definition of the tool. An error names what keeps the func from being one.
func (f Func) Tool() (*mcp.Tool, error) {
	if f.tool == nil {
		return &mcp.Tool{}, errors.New("the zero Func has no tool; make one with gofunc.New")
	}
	if f.own.Summary() == (annotation.Annotations{}).Summary() {
		return f.tool, f.err
	}
	return annotation.Declare(f.tool, f.own), errors.Join(f.err, f.own.Validate())
}

// allowNil lets the maps within a schema be null, which a nil one is written as. That of a slice has it already.
func allowNil(s *jsonschema.Schema) {
	within := slices.Collect(maps.Values(s.Properties))
	for _, inner := range append(within, s.Items, s.AdditionalProperties) {
		if inner == nil {
			continue
		}
		if more := inner.AdditionalProperties; inner.Type == "object" && more != nil && more.Not == nil { // and no struct
			inner.Type, inner.Types = "", []string{"null", "object"}
		}
		allowNil(inner)
	}
}

func answer(out any, structured bool) (*mcp.CallToolResult, error) {
	switch out := out.(type) {
	case *mcp.CallToolResult:
		return out, nil // nil is for the chain to report
	case string:
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}}, nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("gofunc: what the func returned cannot be written as JSON: %w", err)
	}
	if structured && string(raw) == "null" {
		raw = []byte("{}") // a nil map, and structured content is an object
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}
	if structured && raw[0] == '{' {
		res.StructuredContent = json.RawMessage(raw)
	}
	return res, nil
}

// Failed returns an error of a func of [New] with a text for the model, without internals of the host.
func Failed(format string, args ...any) error { return fault.Plain(format, args...) }

func (f Func) decode(ctx context.Context, call middleware.Call, in any) error {
	if err := session.CheckArguments(call); err != nil {
		return err
	}
	arguments := call.Arguments
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	var members map[string]any
	err := json.Unmarshal(arguments, &members)
	if err == nil {
		err = f.input.Validate(members)
	}
	if err == nil {
		err = jsontree.Into(arguments, in)
	}
	if err == nil {
		return nil
	}
	edited, told := "", fmt.Sprintf("The arguments for %s are refused: %v. Nothing has happened. Send what its schema asks for.", call.Tool.ModelName(), err)
	if callstate.Edited(ctx, &call) {
		edited = ", as a person edited them,"
		told = fmt.Sprintf("%s was not called: a person changed its arguments, and its schema does not allow what they wrote: %v. Nothing has happened. Tell the user.", call.Tool.ModelName(), err)
	}
	err = fmt.Errorf("gofunc: the arguments of %s%s are not what its schema allows: %w", call.Tool, edited, err)
	return fault.Told(fault.Unsendable(err), true, told)
}
