package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The answer of every tool here.
const answerText = "3 invoices are open"

var answer = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answerText}}}

// A server counts the calls that reach it, so that a hit that was none shows.
type server struct{ calls int }

func (s *server) CallTool(context.Context, middleware.Call) (*mcp.CallToolResult, error) {
	s.calls++
	return answer, nil
}

var errWrong = errors.New("the wrong answer")

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
	return errWrong
}

func newTool(name string, a annotation.Annotations) *middleware.Tool {
	tool, err := middleware.NewTool("crm", &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, a.Attribute(annotation.Host, ""))
	if err != nil {
		panic(err)
	}
	return tool
}

var (
	reads  = newTool("find_invoices", annotation.ReadOnly())
	writes = newTool("update_invoice", annotation.Update())
	wipes  = newTool("delete_invoice", annotation.Destructive())
)

// An argument is one JSON object of a given size. Its id and its white space can be
// changed in place: the id makes another question of it, the white space only other
// bytes.
type argument struct {
	raw   json.RawMessage
	id    []byte // eight digits
	space []byte // between two members
}

const (
	spaces = "                " // 16: room for 65,536 ways to write the same
	head   = `{"id":"00000000","query":"unpaid","limit":50,"filter":{"status":["open","late"],"min":100.5,"of":"C-10021"},` + spaces + `"sort":"due","desc":true,`
	short  = `{"id":"00000000","limit":50,` + spaces
)

// newArgument returns an argument of exactly so many bytes.
func newArgument(size int) *argument {
	from := head
	if size < 180 {
		from = short
	}
	text := from
	for i := 0; len(text) < size-200; i++ {
		text += fmt.Sprintf(`"member%05d":"%s",`, i, strings.Repeat("v", 1+i%60))
		if i%8 == 0 {
			text += fmt.Sprintf(`"number%05d":%d.5,`, i, i*37)
		}
		if len(text) > 32<<10 && len(text) < size/2 { // so that a megabyte is made at once
			half := text[len(from):]
			for n := 0; len(text)+len(half) < size-200; n++ {
				text += renamed(half, n)
			}
		}
	}
	text += `"pad":"`
	text += strings.Repeat("p", size-len(text)-2) + `"}`
	raw := []byte(text)
	if len(raw) != size || !json.Valid(raw) {
		panic(fmt.Sprintf("an argument of %d bytes came out as %d: %s", size, len(raw), raw[:min(len(raw), 300)]))
	}
	at := strings.Index(text, spaces)
	return &argument{raw: raw, id: raw[7:15], space: raw[at : at+len(spaces)]}
}

// renamed gives every member of the text another name.
func renamed(members string, n int) string {
	return strings.NewReplacer(`"member`, fmt.Sprintf(`"m%dember`, n), `"number`, fmt.Sprintf(`"n%dumber`, n)).Replace(members)
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
