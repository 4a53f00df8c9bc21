package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/elicit"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The call of a client without forms reports that it waits, ends as waiting, and takes the
// decision when it is made again, once.
func TestCallThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		answers := make(chan bool)
		r := connectRaw(t, proxy.Options{
			Servers: []proxy.Server{{Name: "things", Open: func() (io.ReadWriteCloser, error) {
				here, there := net.Pipe()
				_, err := things().Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
				return here, err
			}}},
			Policy: func() func() *policy.Policy {
				p := &policy.Policy{Patience: 12 * time.Second}
				return func() *policy.Policy { return p }
			}(),
			Confirm: hitl.ConfirmerFunc(func(ctx context.Context, r hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				select {
				case <-answers:
					return hitl.Decision{Verdict: hitl.Approved}, nil
				case <-ctx.Done():
					return hitl.Decision{}, context.Cause(ctx)
				}
			}),
			Waits: func(context.Context) string { return "on a page" },
		})
		r.initialize("{}")
		call := func(id int) (told string, progress []float64) {
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"progressToken":"p%d"},"name":"delete_thing","arguments":{"id":"a"}}}`, id, id))
			for {
				m := r.next()
				var p struct {
					ProgressToken, Message string
					Progress               float64
					Content                []struct{ Text string }
				}
				if err := json.Unmarshal(append(m["params"], m["result"]...), &p); err != nil {
					t.Fatal(err)
				}
				switch {
				case string(m["id"]) == fmt.Sprint(id):
					return p.Content[0].Text, progress
				case string(m["method"]) == `"notifications/progress"`:
					if p.ProgressToken != fmt.Sprintf("p%d", id) || !strings.Contains(p.Message, "waiting") {
						t.Errorf("got %s", m["params"])
					}
					progress = append(progress, p.Progress)
				}
			}
		}
		for id := range 2 {
			began := time.Now()
			told, progress := call(id)
			if !strings.Contains(told, "waits for the user's approval on a page until") || time.Since(began) != 12*time.Second {
				t.Errorf("after %v: %s", time.Since(began), told)
			}
			if len(progress) != 2 || progress[0] <= 0 || progress[0] >= progress[1] || progress[1] >= 1 {
				t.Errorf("its progress was %v", progress)
			}
		}
		answers <- true
		if told, _ := call(2); told != "it is gone" || asked.Load() != 1 {
			t.Errorf("asked %d times: %s", asked.Load(), told)
		}
		if told, _ := call(3); !strings.Contains(told, "waits for") || asked.Load() != 2 {
			t.Errorf("asked %d times: %s", asked.Load(), told)
		}
		time.Sleep(time.Hour) // the question ends
	})
}

// A client that opens addresses and shows no forms is sent to the page, at which it is asked.
func TestClientThatOpensAddresses(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"accept", "decline", "cancel"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var opened, asked atomic.Int32
			client := func() *mcp.ClientOptions {
				return &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						if r.Params.Mode != "url" || r.Params.URL != "http://127.0.0.1/page" || !strings.Contains(r.Params.Message, "things/delete_thing") {
							t.Errorf("it is asked %+v", r.Params)
						}
						opened.Add(1)
						return &mcp.ElicitResult{Action: answer}, nil
					},
				}
			}
			page := hitl.ConfirmerFunc(func(context.Context, hitl.Request) (hitl.Decision, error) {
				asked.Add(1)
				return hitl.Decision{Verdict: hitl.Approved}, nil
			})
			form := elicit.New(elicit.Options{Link: func(hitl.Request) (string, error) { return "http://127.0.0.1/page", nil }})
			t.Cleanup(func() {
				want := map[string]int32{"accept": 8}[answer]
				if opened.Load() != 8 || asked.Load() != want {
					t.Errorf("opened %d times, want once in each of 8 ways; asked %d times at the page, want %d", opened.Load(), asked.Load(), want)
				}
			})
			eachWay(t, proxy.Options{Confirm: proxy.Fallback(form, page)}, client, func(t *testing.T, cs *mcp.ClientSession, _ string) {
				res := callTool(t, cs, "delete_thing", map[string]any{"id": "a"})
				if got := text(t, res); res.IsError == (answer == "accept") {
					t.Errorf("got %v %q", res.IsError, got)
				}
			})
		})
	}
}

// A task is handed on as the server wrote it, and recorded as a call whose outcome is unknown.
func TestTaskIsHandedOnAndRecordedAsOpen(t *testing.T) {
	t.Parallel()
	const task = `{"resultType":"task","task":{"taskId":"7","status":"working","ttl":60000}}`
	record := t.TempDir() + "/calls"
	file, err := audit.OpenFile(record, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	r := connectRaw(t, proxy.Options{
		Confirm: approve(true), Audit: file,
		Servers: []proxy.Server{{Name: "things", Open: func() (io.ReadWriteCloser, error) {
			here, there := net.Pipe()
			go func() {
				for lines := bufio.NewScanner(there); lines.Scan(); {
					var q mcptest.Request
					if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
						continue
					}
					result := map[string]string{
						"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
						"tools/list": `{"tools":[{"name":"delete_thing","inputSchema":{"type":"object"}}]}`,
						"tools/call": task,
					}[q.Method]
					_, _ = fmt.Fprintf(there, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.ID, result)
				}
			}()
			return here, nil
		}}},
	})
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_thing","arguments":{"id":"a"}}}`)
	if got := r.answer("1"); string(got["result"]) != task {
		t.Errorf("got %s", got["result"])
	}
	text, err := os.ReadFile(record)
	if err != nil || !strings.Contains(string(text), `"outcome":"unknown"`) {
		t.Errorf("%v: recorded as\n%s", err, text)
	}
}
