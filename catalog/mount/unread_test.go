package mount_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callAnswered calls a tool of a class at a peer that answers with a response as it is written; ID stands for its id.
func callAnswered(t *testing.T, a annotation.Annotations, response string) (*mcp.CallToolResult, error) {
	t.Helper()
	peer := mcptest.PeerTransport(t, func(p *mcptest.Peer, r mcptest.Request) {
		p.Write(strings.ReplaceAll(response, "ID", string(r.ID)))
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	cs := mcptest.Dial(t, client, mount.Transport(peer), mcptest.Legacy)
	tool, err := middleware.NewTool("srv", &mcp.Tool{Name: "a", InputSchema: map[string]any{"type": "object"}}, a)
	if err != nil {
		t.Fatal(err)
	}
	return session.Executor(cs).CallTool(mcptest.Context(t), middleware.Call{Tool: tool, Arguments: json.RawMessage(`{}`)})
}

// The outcome of a write whose answer is not understood is unknown, and the answer is there for information flow.
func TestAnswerThatIsNotUnderstood(t *testing.T) {
	for name, response := range map[string]string{
		"an unknown block":           `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"divider","title":"words of a stranger"}]}}`,
		"a wrong type":               `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"words of a stranger","annotations":{"priority":"high"}}]}}`,
		"a block in two cases":       `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x","Text":"words of a stranger"}]}}`,
		"a result in two cases":      `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"isError":false,"IsError":true,"x":"words of a stranger"}}`,
		"content twice":              `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"content":[{"type":"text","text":"words of a stranger"}]}}`,
		"a member of data twice":     `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"a":1,"a":"words of a stranger"}}}`,
		"two results":                `{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"result":{"content":[{"type":"text","text":"words of a stranger"}]}}`,
		"two results, in two cases":  `{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"Result":{"content":[{"type":"text","text":"words of a stranger"}]}}`,
		"a result in another letter": `{"jsonrpc":"2.0","id":ID,"re\u017fult":{"content":[{"type":"text","text":"words of a stranger"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			res, err := callAnswered(t, annotation.Write().Attribute(annotation.Host, ""), response)
			unknown, isUnknown := errors.AsType[*middleware.OutcomeUnknownError](err)
			answer, isUnread := errors.AsType[interface {
				error
				Unread() []byte
			}](err)
			if !isUnknown || !isUnread || !strings.Contains(string(answer.Unread()), "words of a stranger") || !strings.Contains(unknown.Check, "srv__a may have happened") {
				t.Errorf("got %+v, %v", res, err)
			}
			_, err = callAnswered(t, annotation.ReadOnly().Attribute(annotation.Host, ""), response)
			if _, isUnknown := errors.AsType[*middleware.OutcomeUnknownError](err); err == nil || isUnknown || !middleware.Permanent(err) {
				t.Errorf("of a read: %v", err)
			}
		})
	}
}

// Numbers of a result keep their digits.
func TestNumbersOfAResultKeepTheirDigits(t *testing.T) {
	const structured, meta = `{"id":9007199254740993,"all":[18446744073709551616,1.10,-0,1.5,7]}`, `{"n":9007199254740993}`
	res, err := callAnswered(t, annotation.ReadOnly(), `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":`+structured+`,"_meta":`+meta+`}}`)
	if err != nil {
		t.Fatal(err)
	}
	for want, v := range map[string]any{`{"all":[18446744073709551616,1.10,-0,1.5,7],"id":9007199254740993}`: res.StructuredContent, meta: res.Meta} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	}
	if members, ok := res.StructuredContent.(map[string]any); !ok || members["all"].([]any)[3] != 1.5 {
		t.Errorf("a number that a float64 holds is %#v", res.StructuredContent)
	}
}

// A number above 2^53 reaches the model once, as the server wrote it, in the text and in the structured content.
func TestBigNumberReachesTheModelOnce(t *testing.T) {
	res, err := callAnswered(t, annotation.ReadOnly(), `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"{\"id\":9007199254740993}"}],"structuredContent":{"id":9007199254740993}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := output.Text(res); got != `{"id":9007199254740993}` {
		t.Errorf("the model reads %s", got)
	}
}
