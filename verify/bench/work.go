package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/testtool"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const answerText = "3 invoices are open"

var answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answerText}}}

// A server counts the calls that reach it, so that a false hit is detected.
type server struct{ calls int }

func (s *server) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	s.calls++
	return answer, nil
}

// check looks at an answer as a host would.
func check(res *mcp.CallToolResult, err error) error {
	if err != nil {
		return err
	}
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok && text.Text == answerText {
			return nil
		}
	}
	return errors.New("the wrong answer")
}

func newTool(name string, a annotation.Annotations) *middleware.Tool {
	return testtool.New("crm", name, a.Attribute(annotation.Host, ""))
}

var (
	reads  = newTool("find_invoices", annotation.Annotations{ReadOnly: annotation.Yes, Freshness: annotation.Stable})
	writes = newTool("update_invoice", annotation.Update())
	wipes  = newTool("delete_invoice", annotation.Destructive())
)

// An argument is one JSON object of a given size. Another id makes another question of it; other
// white space makes other bytes.
type argument struct {
	raw   json.RawMessage
	id    []byte // eight digits
	space []byte // between two members
}

const (
	spaces = "                " // 16 characters of two kinds: 65,536 ways to write the same
	head   = `{"id":"00000000","query":"unpaid","limit":50,"filter":{"status":["open","late"],"min":100.5,"of":"C-10021"},` + spaces + `"sort":"due","desc":true,`
)

// newArgument returns an argument of exactly so many bytes, at least 180. A large one has a list of objects.
func newArgument(size int) *argument {
	var b strings.Builder
	b.WriteString(head)
	if size > 600 {
		b.WriteString(`"parts":[`)
		for i := 0; b.Len() < size-400; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"title":"part %d","kind":"memo","amount":%d.5,"at":"2026-11-21T16:00:00Z","tags":["a","late"],"body":"%s"}`,
				i, i*37, strings.Repeat("word ", 4+i%16))
		}
		b.WriteString(`],`)
	}
	b.WriteString(`"pad":"`)
	b.WriteString(strings.Repeat("p", size-b.Len()-2) + `"}`)
	raw := []byte(b.String())
	if len(raw) != size || !json.Valid(raw) {
		panic(fmt.Sprintf("an argument of %d bytes came out as %d", size, len(raw)))
	}
	at := bytes.Index(raw, []byte(spaces))
	return &argument{raw: raw, id: raw[7:15], space: raw[at : at+len(spaces)]}
}

// ask makes the n-th question of it.
func (a *argument) ask(n int) {
	for i := range a.id {
		a.id[len(a.id)-1-i] = byte('0' + n%10)
		n /= 10
	}
}

// write writes the same in the n-th way.
func (a *argument) write(n int) {
	for i := range a.space {
		a.space[i] = " \t"[n>>i&1]
	}
}
