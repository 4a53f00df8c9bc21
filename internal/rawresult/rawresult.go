// Package rawresult carries the result of a call past the SDK, which takes one of two members of a name, keeps nothing of
// a result that it cannot read, and rounds numbers. The transport puts the result into the [Answer] in the context.
package rawresult

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/fairlead-go/fairlead/internal/jsontree"
	"github.com/fairlead-go/fairlead/internal/strictjson"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Answer is the last result of one call as the server wrote it. It is safe for concurrent use.
type Answer struct {
	taken atomic.Pointer[json.RawMessage]
}

type answerKey struct{}

// Watch returns a context for one call, and its answer.
func Watch(ctx context.Context) (context.Context, *Answer) {
	a := new(Answer)
	return context.WithValue(ctx, answerKey{}, a), a
}

// From returns the answer of a call, nil if nothing waits for it.
func From(ctx context.Context) *Answer {
	a, _ := ctx.Value(answerKey{}).(*Answer)
	return a
}

// Take keeps a result. A nil answer keeps nothing.
func (a *Answer) Take(result json.RawMessage) {
	if a != nil {
		a.taken.Store(&result)
	}
}

// Raw returns the result, nil if no transport passed one on.
func (a *Answer) Raw() json.RawMessage {
	if raw := a.taken.Load(); raw != nil {
		return *raw
	}
	return nil
}

// Check returns an error for a result that two readers could take for different ones.
func Check(result json.RawMessage) error {
	if err := strictjson.Once(result, ofResult...); err != nil {
		return err
	}
	var parts struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(result, &parts) != nil {
		return nil // it is not read at all
	}
	for i, block := range parts.Content {
		if err := checkBlock(block); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return nil
}

// Known returns an error for a result of a type that the protocol does not have: what it means is not known, whatever it
// has beside.
func Known(result json.RawMessage) error {
	var parts *struct {
		Type json.RawMessage `json:"resultType"`
	}
	if json.Unmarshal(result, &parts) != nil || parts == nil {
		return fmt.Errorf("it is %.40s, want an object", result)
	}
	switch string(parts.Type) {
	case "", "null", `""`, `"complete"`, `"input_required"`, `"task"`:
		return nil
	}
	return fmt.Errorf("resultType is %.80s, want \"complete\", \"input_required\" or \"task\"", parts.Type)
}

func checkBlock(block json.RawMessage) error {
	if err := strictjson.Once(block, ofBlock...); err != nil {
		return err
	}
	var parts struct {
		Resource    json.RawMessage `json:"resource"`
		Annotations json.RawMessage `json:"annotations"`
		Data        json.RawMessage `json:"data"`
	}
	if json.Unmarshal(block, &parts) != nil {
		return nil
	}
	var resource struct {
		Blob json.RawMessage `json:"blob"`
	}
	_ = json.Unmarshal(parts.Resource, &resource) // it is not read at all
	if isList(parts.Data) || isList(resource.Blob) {
		return errors.New("bytes are written as a list, which readers other than Go's do not take for bytes; want a string in base64")
	}
	if err := strictjson.Once(parts.Resource, ofResource...); err != nil {
		return err
	}
	return strictjson.Once(parts.Annotations, "audience", "priority", "lastModified")
}

func isList(value json.RawMessage) bool { return len(value) > 0 && value[0] == '[' }

// The names that the protocol has in a result, a block of it, and a resource in a block; result is what a message has it
// in, see package answers.
var (
	ofResult   = []string{"result", "content", "structuredContent", "isError", "_meta", "resultType", "inputRequests", "requestState", "task"}
	ofBlock    = []string{"type", "text", "data", "mimeType", "resource", "uri", "name", "title", "description", "size", "annotations", "_meta", "icons"}
	ofResource = []string{"uri", "mimeType", "text", "blob", "_meta"}
)

// Restore gives the structured content and the _meta of a result that the SDK has read the digits that the server wrote.
func Restore(res *mcp.CallToolResult, raw json.RawMessage) {
	if !jsontree.Rounded(raw) {
		return
	}
	var parts struct {
		Structured json.RawMessage            `json:"structuredContent"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return
	}
	if v, err := jsontree.Exact(parts.Structured); err == nil && res.StructuredContent != nil {
		res.StructuredContent = v
	}
	for name, value := range parts.Meta {
		if v, err := jsontree.Exact(value); err == nil && res.Meta[name] != nil {
			res.Meta[name] = v
		}
	}
}
