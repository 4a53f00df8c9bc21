package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// mirrors sets the headers of a request that repeat its body.
func mirrors(req *http.Request, body string) {
	var m struct {
		Method string
		Params struct{ Name, URI, TaskID string }
	}
	_ = json.Unmarshal([]byte(body), &m) // a body that cannot be read has no method
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Mcp-Protocol-Version", mcptest.Modern)
	req.Header.Set("Mcp-Method", m.Method)
	if name := m.Params.Name + m.Params.URI + m.Params.TaskID; name != "" {
		req.Header.Set("Mcp-Name", name)
	}
}

// mirrored is a tool with arguments that are repeated in headers.
const mirrored = `{"name":"add_thing","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
	`"n":{"type":"integer","x-mcp-header":"N"},"now":{"type":"boolean","x-mcp-header":"Now"},` +
	`"at":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}}}}`

// What is on the way may let a request through by its headers, so one whose headers contradict its body is refused as the
// revision says, and no server gets it.
func TestHeadersThatContradictTheBody(t *testing.T) {
	t.Parallel()
	s := newPlain(mirrored, readThing)
	s.held = "nothing"
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{{Name: "plain", Open: s.open}}, Confirm: approve(true)})
	usual := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add_thing"}
	const (
		ok       = 200
		mismatch = 400
	)
	for _, row := range []struct {
		name, method, params, headers string // "NAME: VALUE|…"; without a value the header is left out
		want                          int
	}{
		{"usual", "tools/call", `"name":"add_thing","arguments":{}`, "", ok},
		{"no version", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Protocol-Version", mismatch},
		{"another version", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Protocol-Version: 2025-11-25", mismatch},
		{"no method", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Method", mismatch},
		{"another method", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Method: tools/list", mismatch},
		{"method in another case", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Method: Tools/call", mismatch},
		{"no name", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Name", mismatch},
		{"another name", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Name: read_thing", mismatch},
		{"name in base64", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Name: =?base64?YWRkX3RoaW5n?=", ok},
		{"another name in base64", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Name: =?base64?cmVhZF90aGluZw==?=", mismatch},
		{"no base64", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Name: =?base64?%?=", mismatch},
		{"name twice", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Name: add_thing|Mcp-Name: read_thing", mismatch},
		{"space around the name", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Name:   add_thing  ", ok},
		{"name of a prompt", "prompts/get", `"name":"a"`, "Mcp-Method: prompts/get|Mcp-Name: b", mismatch},
		{"uri of a resource", "resources/read", `"uri":"a:b"`, "Mcp-Method: resources/read|Mcp-Name: a:c", mismatch},
		{"task", "tasks/get", `"taskId":"a"`, "Mcp-Method: tasks/get|Mcp-Name: b", mismatch},
		{"argument", "tools/call", `"name":"add_thing","arguments":{"region":"eu"}`, "Mcp-Param-Region: eu", ok},
		{"argument without its header", "tools/call", `"name":"add_thing","arguments":{"region":"eu"}`, "", mismatch},
		{"header without its argument", "tools/call", `"name":"add_thing","arguments":{}`, "Mcp-Param-Region: eu", mismatch},
		{"header of a null", "tools/call", `"name":"add_thing","arguments":{"region":null}`, "Mcp-Param-Region: null", mismatch},
		{"another argument", "tools/call", `"name":"add_thing","arguments":{"region":"eu"}`, "Mcp-Param-Region: us", mismatch},
		{"argument twice", "tools/call", `"name":"add_thing","arguments":{"region":"eu"}`, "Mcp-Param-Region: eu|Mcp-Param-Region: us", mismatch},
		{"argument in base64", "tools/call", `"name":"add_thing","arguments":{"region":" ü"}`, "Mcp-Param-Region: =?base64?IMO8?=", ok},
		{"number", "tools/call", `"name":"add_thing","arguments":{"n":42}`, "Mcp-Param-N: 42.0", ok},
		{"another number", "tools/call", `"name":"add_thing","arguments":{"n":42}`, "Mcp-Param-N: 43", mismatch},
		{"number as a text", "tools/call", `"name":"add_thing","arguments":{"n":"42"}`, "Mcp-Param-N: 42", ok},
		{"large number", "tools/call", `"name":"add_thing","arguments":{"n":9007199254740993}`, "Mcp-Param-N: 9007199254740992", mismatch},
		{"fraction", "tools/call", `"name":"add_thing","arguments":{"n":1.5}`, "Mcp-Param-N: 1.5", mismatch},
		{"no number", "tools/call", `"name":"add_thing","arguments":{"n":1}`, "Mcp-Param-N: NaN", mismatch},
		{"boolean", "tools/call", `"name":"add_thing","arguments":{"now":true}`, "Mcp-Param-Now: true", ok},
		{"boolean in another case", "tools/call", `"name":"add_thing","arguments":{"now":true}`, "Mcp-Param-Now: True", mismatch},
		{"object", "tools/call", `"name":"add_thing","arguments":{"region":{}}`, "Mcp-Param-Region: {}", mismatch},
		{"inner argument", "tools/call", `"name":"add_thing","arguments":{"at":{"zone":"a"}}`, "Mcp-Param-Zone: a", ok},
		{"another inner argument", "tools/call", `"name":"add_thing","arguments":{"at":{"zone":"a"}}`, "Mcp-Param-Zone: b", mismatch},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := len(s.calls())
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, row.method, row.params, taskMeta)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			for name, value := range usual {
				req.Header.Set(name, value)
			}
			for one := range strings.SplitSeq(row.headers, "|") {
				name, _, _ := strings.Cut(one, ":")
				req.Header.Del(name)
			}
			for one := range strings.SplitSeq(row.headers, "|") {
				if name, value, there := strings.Cut(one, ":"); there {
					req.Header.Add(name, value[1:])
				}
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if res.StatusCode != row.want || err != nil || (row.want == mismatch) != strings.Contains(string(body), `"code":-32020`) {
				t.Errorf("got %s %s, want %d", res.Status, body, row.want)
			}
			if sent := len(s.calls()) - before; sent != (mismatch-row.want)/200 {
				t.Errorf("the server got %d calls", sent)
			}
		})
	}
}
